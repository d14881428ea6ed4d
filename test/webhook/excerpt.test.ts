import { expect, test } from "vitest";
import { excerptOf } from "../../lib/webhook/excerpt.ts";

const of = (text: string, confidential: string[] = []) => excerptOf(Buffer.from(text), confidential);

test("an excerpt is one line without control characters", () => {
  expect(of(" no\r\n\tsuch \u001b[31morder\u0000\u0085\u2028\u202e gone \u007f")).toBe(
    "no such [31morder gone",
  );
});

test("an excerpt has at most 1 KB and ends with a whole character", () => {
  expect(of("x".repeat(5_000))).toBe("x".repeat(1_024));
  expect(of("€".repeat(5_000))).toBe("€".repeat(341));
  expect(Buffer.byteLength(excerptOf(Buffer.alloc(5_000, 0xff), []))).toBeLessThanOrEqual(1_024);
});

test("an excerpt of an echo shows no confidential value", () => {
  const echo =
    '{"authorization":"Bearer top-secret-token","token":"top-secret-token","key":"key-in-the-url","ok":1}';
  expect(of(echo, ["Bearer top-secret-token", "key-in-the-url", "1"])).toBe(
    '{"authorization":"***","token":"***","key":"***","ok":1}',
  );
});

test.each([
  ["JSON", '{"a":"Basic dXNl/c2Vj+a==","q":"sid=\\"x&y-z\\""}'],
  ["JSON as PHP does", '{"a":"Basic dXNl\\/c2Vj+a==","q":"sid=\\"x&y-z\\""}'],
  ["JSON as Go does", '{"a":"Basic dXNl/c2Vj+a==","q":"sid=\\"x\\u0026y-z\\""}'],
  ["HTML", "<b>Basic dXNl/c2Vj+a==</b><i>sid=&quot;x&amp;y-z&quot;</i>"],
  ["a URL", "/login?a=Basic%20dXNl%2Fc2Vj%2Ba%3D%3D&q=sid%3d%22x%26y-z%22"],
])("an echo written as %s shows no confidential value either", (_, echo) => {
  const shown = of(echo, ["Basic dXNl/c2Vj+a==", 'sid="x&y-z"']);
  expect(shown).toContain("***");
  expect(shown).not.toMatch(/dXNl|c2Vj|x&|y-z/);
});

test("two secrets, one within the other, are removed completely", () => {
  expect(of("key: abcdef-ghijkl", ["abcdef", "abcdef-ghijkl"])).toBe("key: ***");
});

test("confidential values are removed before the excerpt is cut, so that no part of one remains", () => {
  expect(of(`${"x".repeat(1_020)}top-secret-token`, ["top-secret-token"])).toBe(`${"x".repeat(1_020)}***`);
});
