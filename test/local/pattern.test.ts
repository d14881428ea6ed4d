import { describe, expect, test } from "vitest";
import { compilePattern } from "../../lib/tools/local/events/pattern.ts";
import { InvalidPattern } from "../../lib/tools/local/events/pattern-leaf.ts";

const event = {
  source: "carillon",
  "detail-type": "carillon.job.due",
  resources: ["arn:one", "arn:two"],
  detail: {
    subject: "order:1234",
    file: "dir/photo.PNG",
    amount: 12.5,
    zero: 0,
    none: null,
    ok: true,
    empty: "",
    list: [],
    tags: ["red", "blue"],
    lines: [
      { sku: "a", count: 1 },
      { sku: "b", count: 2 },
    ],
  },
};

function matches(detail: unknown): boolean {
  return compilePattern(JSON.stringify({ detail }))(event);
}

describe("an event pattern", () => {
  test("an event pattern matches when each named field has one of the listed values", () => {
    expect(compilePattern('{"source":["other","carillon"],"detail":{"ok":[true]}}')(event)).toBe(true);
    expect(compilePattern('{"source":["carillon"],"detail":{"ok":[false]}}')(event)).toBe(false);
  });

  test.each([
    ["a text", { subject: ["order:1234"] }],
    ["a number", { zero: [0] }],
    ["null", { none: [null] }],
    ["the empty text", { empty: [""] }],
    ["an element of an array", { tags: ["blue", "green"] }],
    ["a prefix", { subject: [{ prefix: "order:" }] }],
    ["a prefix in any case", { subject: [{ prefix: { "equals-ignore-case": "ORDER" } }] }],
    ["a suffix", { file: [{ suffix: ".PNG" }] }],
    ["a suffix in any case", { file: [{ suffix: { "equals-ignore-case": ".png" } }] }],
    ["a text in any case", { file: [{ "equals-ignore-case": "DIR/photo.png" }] }],
    ["a wildcard", { file: [{ wildcard: "dir/*.PNG" }] }],
    ["a number within bounds", { amount: [{ numeric: [">", 12, "<=", 12.5] }] }],
    ["an equal number", { amount: [{ numeric: ["=", 12.5] }] }],
    ["anything but a text", { subject: [{ "anything-but": "order:1" }] }],
    ["anything but a list", { amount: [{ "anything-but": [1, 2] }] }],
    ["anything but a prefix", { subject: [{ "anything-but": { prefix: "invoice" } }] }],
    ["anything but a wildcard", { subject: [{ "anything-but": { wildcard: "*:9*" } }] }],
    ["a present field", { none: [{ exists: true }] }],
    ["an absent field", { other: [{ exists: false }] }],
    ["an absent nested field", { other: { deep: [{ exists: false }] } }],
    ["an empty array as no field", { list: [{ exists: false }] }],
    ["fields of one element of an array of objects", { lines: { sku: ["b"], count: [2] } }],
    ["either of two patterns", { $or: [{ ok: [false] }, { amount: [{ numeric: ["<", 13] }] }] }],
  ])("an event pattern matches %s", (_, detail) => {
    expect(matches(detail)).toBe(true);
  });

  test.each([
    ["a text in another case", { subject: ["ORDER:1234"] }],
    ["a number as text", { amount: ["12.5"] }],
    ["a prefix of a number", { amount: [{ prefix: "12" }] }],
    ["an absent field", { other: [{ "anything-but": "x" }] }],
    ["an excluded value", { subject: [{ "anything-but": ["order:1234", "x"] }] }],
    ["fields spread over several elements", { lines: { sku: ["a"], count: [2] } }],
    ["an object instead of a value", { lines: [{ exists: true }] }],
    ["neither of two patterns", { $or: [{ ok: [false] }, { zero: [1] }] }],
    ["a wildcard with overlapping ends", { subject: [{ wildcard: "order:1234*1234" }] }],
    ["a property of the prototype", { constructor: [{ exists: true }] }],
  ])("an event pattern does not match %s", (_, detail) => {
    expect(matches(detail)).toBe(false);
  });

  test("an event pattern takes an escaped star in a wildcard as a star", () => {
    const matcher = compilePattern(String.raw`{"detail":{"name":[{"wildcard":"a\\*b\\\\*"}]}}`);
    expect(matcher({ detail: { name: "a*b\\c" } })).toBe(true);
    expect(matcher({ detail: { name: "axb\\c" } })).toBe(false);
  });

  test("an event pattern answers at once for a wildcard that would explode as a regular expression", () => {
    const matcher = compilePattern(JSON.stringify({ name: [{ wildcard: `${"*a".repeat(40)}*b` }] }));
    expect(matcher({ name: "a".repeat(20_000) })).toBe(false);
  });

  test.each([
    ["text", "nonsense", /not JSON/],
    ["a list", "[]", /an object/],
    ["an empty object", "{}", /at least one field/],
    ["a bare value", '{"source":"carillon"}', /source: a field takes a list/],
    ["an empty list", '{"source":[]}', /source: an empty list/],
    ["an unknown test", '{"detail":{"a":[{"regex":"."}]}}', /detail\.a: "regex" is not supported/],
    ["two tests at once", '{"a":[{"prefix":"a","suffix":"b"}]}', /exactly one test/],
    ["a half comparison", '{"a":[{"numeric":[">"]}]}', /"numeric" takes/],
    ["one alternative", '{"$or":[{"a":[1]}]}', /at least two/],
    ["two stars in a row", '{"a":[{"wildcard":"a**"}]}', /two stars/],
    ["a list within a list", '{"a":[["b"]]}', /plain values/],
  ])("an event pattern is refused with a reason when it is %s", (_, text, reason) => {
    expect(() => compilePattern(text)).toThrow(InvalidPattern);
    expect(() => compilePattern(text)).toThrow(reason);
  });
});
