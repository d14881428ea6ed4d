import { expect, test } from "vitest";
import { ConnectionLost } from "../../lib/db/connection-lost.ts";
import { FewerFit, inHalves, OfNoRow } from "../../lib/quarantine/in-halves.ts";

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);
const always = () => false;

/** Fails if one of the bad numbers is in the part, and records the parts of its calls. */
function acting(bad: readonly number[], error: unknown = new Error("bad")) {
  const done: number[] = [];
  const asked: number[] = [];
  const act = async (part: readonly number[]) => {
    asked.push(part.length);
    if (part.some((each) => bad.includes(each))) throw error;
    done.push(...part);
  };
  return { act, done, asked };
}

test("Items without a failure are done together in one call", async () => {
  const { act, done, asked } = acting([]);
  expect(await inHalves(numbers(100), act, always)).toEqual({ failed: [], left: [] });
  expect(asked).toEqual([100]);
  expect(done).toEqual(numbers(100));
});

test("An empty list of items causes no call", async () => {
  const { act, asked } = acting([]);
  expect(await inHalves([], act, always)).toEqual({ failed: [], left: [] });
  expect(asked).toEqual([]);
});

test.each([[[0]], [[99]], [[13, 14, 77]], [numbers(100)]])(
  "Items that fail (%j of 100) are alone in the end, and all others are done once, in order",
  async (bad) => {
    const { act, done } = acting(bad);
    const { failed, left } = await inHalves(numbers(100), act, always);
    expect(failed.map(({ item }) => item)).toEqual(bad);
    expect(left).toEqual([]);
    expect(done).toEqual(numbers(100).filter((each) => !bad.includes(each)));
  },
);

test("One bad item of a thousand costs about twenty attempts", async () => {
  const { act, asked } = acting([617]);
  await inHalves(numbers(1_000), act, always);
  expect(asked.length).toBeLessThanOrEqual(22);
});

test("Items of which fewer fit are cut into parts in the order that the failure names", async () => {
  const parts: (readonly number[])[] = [];
  const act = async (part: readonly number[]) => {
    if (part.length > 2) throw new FewerFit("Too many.", 2, [5, 3, 1, 0, 2, 4]);
    parts.push(part);
  };
  expect(await inHalves(numbers(6), act, always)).toEqual({ failed: [], left: [] });
  expect(parts).toEqual([
    [5, 3],
    [1, 0],
    [2, 4],
  ]);
});

test.each([
  ["a connection that is lost", new ConnectionLost("gone")],
  ["a failure that all of them share", new OfNoRow(new Error("locked"))],
  ["a database that shuts down", Object.assign(new Error("stopping"), { code: "57P01" })],
])("No item is blamed for %s", async (_, error) => {
  const { act, asked } = acting([3], error);
  await expect(inHalves(numbers(8), act, always)).rejects.toBe(error);
  expect(asked).toEqual([8]);
});

test("Items for which no time is left are returned untried", async () => {
  const { act, done, asked } = acting([0]);
  const { failed, left } = await inHalves(numbers(8), act, () => asked.length === 2);
  expect(failed).toEqual([]);
  expect(done).toEqual([]);
  expect(left.toSorted((a, b) => a - b)).toEqual(numbers(8));
});

test("A failed batch whose error names a size is cut into parts of that size", async () => {
  const done: number[] = [];
  const asked: number[] = [];
  const act = async (part: readonly number[]) => {
    asked.push(part.length);
    if (part.length > 8) throw new FewerFit("too many", 7);
    done.push(...part);
  };
  expect(await inHalves(numbers(20), act, always)).toEqual({ failed: [], left: [] });
  expect(asked).toEqual([20, 7, 7, 6]);
  expect(done).toEqual(numbers(20));
});

test("A failed batch whose error names the size 0 is still done one item at a time", async () => {
  const { act, done } = acting([1], new FewerFit("too many", 0));
  const { failed } = await inHalves(numbers(3), act, always);
  expect(failed.map(({ item }) => item)).toEqual([1]);
  expect(done).toEqual([0, 2]);
});
