import { expect, test } from "vitest";
import { median } from "./report.ts";

test("a median is the one in the middle, and of two what is between them", () => {
  expect(median([50, 10, 40])).toBe(40);
  expect(median([10, 50])).toBe(30);
  expect(median([10, 11])).toBe(11);
  expect(median([0.5, 1.5, 2, 9])).toBe(1.75);
  expect(median([])).toBeNaN();
});
