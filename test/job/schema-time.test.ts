import { expect, test } from "vitest";
import { eachWithinLimit, SchemaTooSlow, withinLimit } from "../../lib/job/schema-time.ts";

/** A loop that only a time limit can end. */
function endless(): never {
  for (;;);
}

test("A schema that never ends is stopped, and its caller gets an error", () => {
  expect(() => withinLimit({}, endless)).toThrow(SchemaTooSlow);
});

test("A schema within its limit returns or throws the same as without a limit", () => {
  expect(withinLimit({}, () => 7)).toBe(7);
  const error = new Error("of its own");
  expect(() =>
    withinLimit({}, () => {
      throw error;
    }),
  ).toThrow(error);
});

test("A schema that was too slow has half the limit the next time, and another schema has the whole limit", () => {
  const slow = {};
  expect(() => withinLimit(slow, endless)).toThrow("longer than 1000 ms");
  expect(() => withinLimit(slow, endless)).toThrow("longer than 500 ms");
  expect(() => withinLimit({}, endless)).toThrow("longer than 1000 ms");
});

test("Many steps answer in their order, and a schema that never ends fails its own step", () => {
  const schemas = [{}, {}, {}];
  const steps = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((n) => ({ n, schema: schemas[n % 3] ?? {} }));
  const answers = eachWithinLimit(steps, ({ n, schema }, index) => {
    try {
      return [index, withinLimit(schema, () => (n % 3 === 1 ? endless() : n))];
    } catch (error) {
      return [index, error instanceof SchemaTooSlow];
    }
  });
  expect(answers).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8].map((n) => [n, n % 3 === 1 ? true : n]));
});

test("Steps inside of steps share the limit of the outer ones", () => {
  const schema = {};
  const inner = () =>
    eachWithinLimit([{}, {}], () => {
      try {
        return withinLimit(schema, endless);
      } catch (error) {
        return error instanceof SchemaTooSlow;
      }
    });
  expect(eachWithinLimit([{}, {}], inner)).toEqual([
    [true, true],
    [true, true],
  ]);
});

test("An error of a step reaches the caller", () => {
  const error = new Error("of its own");
  expect(() =>
    eachWithinLimit([{}], () => {
      throw error;
    }),
  ).toThrow(error);
});
