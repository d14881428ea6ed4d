import { expect, test } from "vitest";
import { type Group, nextFairly } from "../../../lib/tools/local/queue/fair-order.ts";

const many = (group: Group, count: number): Group[] => Array.from({ length: count }, () => group);

test("messages of quiet groups and without a group come before those of a group with thirty in flight", () => {
  const waiting = ["a", "a", "b", undefined, "a"];
  expect(nextFairly(waiting, 5, { inFlight: many("a", 30) })).toEqual([2, 3, 0, 1, 4]);
});

test("a group with 29 messages in flight, or with a tenth of all, is quiet", () => {
  expect(nextFairly(["a", "b"], 2, { inFlight: many("a", 29) })).toEqual([0, 1]);
  const inFlight = [...many("a", 30), ...many(undefined, 270)];
  expect(nextFairly(["a", "b"], 2, { inFlight })).toEqual([0, 1]);
  expect(nextFairly(["a", "b"], 2, { inFlight: inFlight.slice(0, 299) })).toEqual([1, 0]);
});

test("a group with few messages in flight is noisy if it has had more than a tenth of the receivers' time", () => {
  const timeShares = new Map([["a", 0.11]]);
  expect(nextFairly(["a", "b"], 2, { inFlight: ["a"], timeShares })).toEqual([1, 0]);
  expect(nextFairly(["a", "b"], 2, { inFlight: ["a"], timeShares: new Map([["a", 0.1]]) })).toEqual([0, 1]);
});

test("of several noisy groups, the one with the fewest messages in flight is next", () => {
  const waiting = ["a", "a", "a", "b", "b", "b"];
  const inFlight = [...many("a", 32), ...many("b", 31)];
  expect(nextFairly(waiting, 5, { inFlight })).toEqual([3, 0, 4, 1, 5]);
});

test("a noisy group that is alone is delivered in the order of its messages, as many as are wanted", () => {
  expect(nextFairly(many("a", 6), 4, { inFlight: many("a", 50) })).toEqual([0, 1, 2, 3]);
  expect(nextFairly(many("a", 2), 10, { inFlight: many("a", 50) })).toEqual([0, 1]);
});
