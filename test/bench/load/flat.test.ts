import { describe, expect, test } from "vitest";
import { flatness, theilSen } from "./flat.ts";

const points = (y: (x: number) => number, count = 60) =>
  Array.from({ length: count }, (_, x) => ({ x, y: y(x) }));

describe("the slope by Theil and Sen", () => {
  test("the slope by Theil and Sen is that of the line, whatever a few points do", () => {
    expect(theilSen(points((x) => 3 * x + 7))).toBe(3);
    expect(theilSen(points((x) => (x % 10 === 0 ? 10_000 : 3 * x)))).toBeCloseTo(3, 1);
    expect(theilSen([{ x: 1, y: 1 }])).toBe(0);
  });
});

describe("a measure is flat", () => {
  test("a measure that swings is flat, even by more than it may rise", () => {
    expect(
      flatness(
        points((x) => 100 + 80 * Math.sin(x)),
        0,
      ),
    ).toMatchObject({ flat: true });
  });

  test("a measure is flat when a vacuum removes the accumulated rows", () => {
    expect(
      flatness(
        points((x) => (x % 12) * 1_000),
        20_000,
      ),
    ).toMatchObject({ flat: true });
  });

  test("a measure that first rises and then stays level is flat, and so is one that falls", () => {
    expect(
      flatness(
        points((x) => Math.min(x, 20) * 50),
        0,
      ).flat,
    ).toBe(true);
    expect(
      flatness(
        points((x) => 1_000 - 10 * x),
        0,
      ).flat,
    ).toBe(true);
  });

  test("a measure that rises by more than a quarter of its level and by more than its noise is not flat", () => {
    const leak = points((x) => 100 + 5 * x);
    expect(flatness(leak, 0)).toMatchObject({ drift: 145, level: 323, flat: false });
    expect(flatness(leak, 144).flat).toBe(false);
    expect(flatness(leak, 145).flat).toBe(true);
  });

  test("a measure with too few points is not judged", () => {
    expect(() =>
      flatness(
        points((x) => x, 8),
        0,
      ),
    ).toThrow("too few");
  });
});
