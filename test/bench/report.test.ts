import { expect, test } from "vitest";
import { median } from "./report.ts";

test("the median is the middle value, or the mean of the two middle values", () => {
  expect(median([50, 10, 40])).toBe(40);
  expect(median([10, 50])).toBe(30);
  expect(median([10, 11])).toBe(11);
  expect(median([0.5, 1.5, 2, 9])).toBe(1.75);
  expect(median([])).toBeNaN();
});
