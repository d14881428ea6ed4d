import fc from "fast-check";
import { expect, test } from "vitest";
import { answerOf, quoted, toldPage } from "../../lib/mcp/answer.ts";
import { charactersMax, fitted } from "../../lib/mcp/fitted.ts";

const nested = (levels: number): unknown => (levels === 0 ? "end" : { below: nested(levels - 1) });

test("A small answer is not changed", () => {
  const data = { key: "a", payload: { rows: [1, null, "x", true, { y: [] }] } };
  expect(fitted(data)).toEqual({ value: data, leftOut: [] });
  expect(answerOf({ lines: ["a"], data }).structuredContent).toEqual(data);
});

test("An answer of any shape becomes short enough, and says what it leaves out", () => {
  const wide = fc
    .jsonValue({ maxDepth: 4 })
    .map((value) => ({ payload: Array.from({ length: 400 }, () => value), value }));
  fc.assert(
    fc.property(wide, (data) => {
      const { value, leftOut } = fitted(data);
      expect(JSON.stringify(value).length).toBeLessThanOrEqual(charactersMax);
      expect(leftOut.length > 0).toBe(JSON.stringify(value) !== JSON.stringify(data));
    }),
  );
  for (const data of [{ payload: "é".repeat(240_000) }, { payload: nested(32) }])
    expect(fitted(data).leftOut).toEqual([expect.stringMatching(/^payload/)]);
});

test("The items of a page are all kept, because its cursor continues after the last one", () => {
  const items = Array.from({ length: 50 }, (_, at) => ({
    at,
    error: "x".repeat(10_000),
    tags: Array(60).fill("t"),
  }));
  const { value, leftOut } = fitted({ items, cursor: "c".repeat(1_500) });
  expect(value["items"]).toHaveLength(50);
  expect(value["cursor"]).toHaveLength(1_500);
  expect(JSON.stringify(value).length).toBeLessThanOrEqual(charactersMax);
  expect(leftOut.at(-1)).toMatch(/^and \d+ more places$/);
});

test("The cursor of a page stands whole at the end of the text", () => {
  const cursor = "c".repeat(1_500);
  const { content } = answerOf(toldPage({ items: ["a", "b"], cursor }, (item) => item, "none"));
  expect(content).toEqual([
    { type: "text", text: `a\nb\nThere is more: call again with the same arguments and cursor "${cursor}".` },
  ]);
  const empty = answerOf(toldPage({ items: [], cursor }, () => "", "No job matches."));
  expect(empty.content).toMatchObject([{ text: expect.stringMatching(/^Nothing on this page\.\n/) }]);
});

test("A foreign text neither begins a line of its own nor hides characters", () => {
  const foreign = 'one\ntwo\u2028three\u202e\u0007 "four"';
  const { content } = answerOf({ lines: [`key: ${foreign}`, quoted(foreign)], data: {} });
  const [{ text } = { text: "" }] = content as { text: string }[];
  expect(text.split("\n")).toHaveLength(2);
  for (const hidden of ["\u2028", "\u202e", "\u0007"]) expect(text).not.toContain(hidden);
});

test("A text has at most eighty lines of four hundred characters", () => {
  const { content } = answerOf({ lines: Array(500).fill("x".repeat(5_000)), data: {} });
  const [{ text } = { text: "" }] = content as { text: string }[];
  expect(text.split("\n")).toHaveLength(81);
  expect(text.length).toBeLessThan(81 * 402);
});
