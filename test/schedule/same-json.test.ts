import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sameJson } from "../../lib/schedule/shape/same-json.ts";

/** The definition of equality: both values are written as JSON and read back. */
const asRead = (value: unknown): unknown => JSON.parse(JSON.stringify(value) ?? "null");

describe("two values are the same JSON", () => {
  test.each([
    [-0, 0],
    [{ a: 1, b: undefined }, { a: 1 }],
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
    [{ deep: [{ zero: -0 }] }, { deep: [{ zero: 0 }] }],
  ])("%j and %j are the same JSON", (a, b) => {
    expect(sameJson(a, b)).toBe(true);
    expect(sameJson(b, a)).toBe(true);
  });

  test.each([
    [1, "1"],
    [null, {}],
    [[], {}],
    [
      { a: undefined, b: 1 },
      { a: 1, b: undefined },
    ],
    [
      [1, 2],
      [2, 1],
    ],
    [{ a: null }, {}],
    [JSON.parse('{"__proto__": 1}'), {}],
    [JSON.parse('{"__proto__": 1}'), JSON.parse('{"__proto__": 2}')],
    [{ toString: 1 }, { valueOf: 1 }],
  ])("%j and %j are not the same JSON", (a, b) => {
    expect(sameJson(a, b)).toBe(false);
    expect(sameJson(b, a)).toBe(false);
  });

  test("two values are the same JSON exactly if they are equal after writing and reading", () => {
    const json = fc.jsonValue({ maxDepth: 3 });
    fc.assert(
      fc.property(
        fc.oneof(
          fc.tuple(json, json),
          json.map((one) => [one, structuredClone(one)]),
        ),
        ([a, b]) => {
          expect(sameJson(a, b)).toBe(isDeepStrictEqual(asRead(a), asRead(b)));
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
