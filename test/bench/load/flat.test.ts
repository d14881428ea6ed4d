import { describe, expect, test } from "vitest";
import { flatness, theilSen } from "./flat.ts";

const points = (y: (x: number) => number, count = 60) =>
  Array.from({ length: count }, (_, x) => ({ x, y: y(x) }));

describe("the slope by Theil and Sen", () => {
  test("is that of a line, whatever a few points do", () => {
    expect(theilSen(points((x) => 3 * x + 7))).toBe(3);
    expect(theilSen(points((x) => (x % 10 === 0 ? 10_000 : 3 * x)))).toBeCloseTo(3, 1);
    expect(theilSen([{ x: 1, y: 1 }])).toBe(0);
  });
});

describe("a measure is flat", () => {
  test("where it swings, also by more than it may rise", () => {
    expect(
      flatness(
        points((x) => 100 + 80 * Math.sin(x)),
        0,
      ),
    ).toMatchObject({ flat: true });
  });

  test("where a vacuum takes away what has gathered", () => {
    expect(
      flatness(
        points((x) => (x % 12) * 1_000),
        20_000,
      ),
    ).toMatchObject({ flat: true });
  });

  test("where it has risen first and stands then, and where it falls", () => {
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

  test("not where it rises by more than a quarter of its level, and more than it does by itself", () => {
    const leak = points((x) => 100 + 5 * x);
    expect(flatness(leak, 0)).toMatchObject({ drift: 145, level: 323, flat: false });
    expect(flatness(leak, 144).flat).toBe(false);
    expect(flatness(leak, 145).flat).toBe(true);
  });

  test("or cannot be told of so few points", () => {
    expect(() =>
      flatness(
        points((x) => x, 8),
        0,
      ),
    ).toThrow("too few");
  });
});
