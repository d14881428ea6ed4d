import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { placeByKey } from "../../lib/cadence/spread-by-key.ts";
import { parseWhen } from "../../lib/cadence/when/parse-when.ts";

const now = Date.parse("2026-11-21T08:00:00Z");

function normal(when: string, key: string): string {
  const parsed = parseWhen(when, { timezone: "UTC", now, key });
  if (!parsed.ok) throw new Error(`${when}: ${parsed.message}`);
  return parsed.normal;
}

describe("the value of an `H`, which the key determines", () => {
  test.each([
    ["a", "H H * * *", "43 7 * * *"],
    ["reports/daily", "H H H H H", "15 0 24 8 2"],
    ["reports/daily", "H H H * * *", "53 15 0 * * *"],
    ["reports/daily", "H/15 H(9-16) * * H(1-5)", "*/15 9 * * 5"],
    ["Überweisung", "h(0-29)/10 h * * *", "0-20/10 6 * * *"],
    ["", "H * * * *", "51 * * * *"],
    ["a", "cron(H H ? * H *)", "43 7 * * 5"],
    ["a", "cron(H(0-29) H(1-5) H(10-20) * ? 2027)", "cron(13 4 16 * ? 2027)"],
    ["a", "H H ? * H(mon-fri)", "43 7 * * 1"],
    ["a", "H H LW,H * *", "43 7 26,LW * *"],
    ["a", "H,30 H/6 * * *", "30,43 1/6 * * *"],
    ["a", "@hourly", "0 * * * *"],
  ])("the key %j turns %j into %j, always", (key, when, expected) => {
    expect(normal(when, key)).toBe(expected);
  });

  test.each([
    ["minute", 60],
    ["hour", 24],
    ["day-of-month", 28],
    ["month", 12],
    ["day-of-week", 7],
    ["minute", 10],
  ])("the values of `H` are spread evenly over the field %s of %i", (field, size) => {
    const keys = 400 * size;
    const counts = new Array<number>(size).fill(0);
    for (let number = 0; number < keys; number += 1) {
      const place = placeByKey(`team-${number % 7}/job-${number}`, field, size);
      counts[place] = (counts[place] ?? 0) + 1;
    }
    // The standard deviation of a count is 20. With an even spread over 60 values, no count is six
    // deviations off.
    expect(counts).toHaveLength(size);
    expect(Math.min(...counts)).toBeGreaterThan(400 - 6 * 20);
    expect(Math.max(...counts)).toBeLessThan(400 + 6 * 20);
  });

  test("an `H` has different values in the fields of one key", () => {
    const same = Array.from({ length: 1_000 }, (_, number) => `key ${number}`).filter(
      (key) => placeByKey(key, "minute", 60) === placeByKey(key, "second", 60),
    );
    expect(same.length).toBeLessThan(50);
  });

  test("the value of an `H` is in its range, and a step continues from it to the end of the range", () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.integer({ min: 0, max: 59 }),
        fc.integer({ min: 0, max: 59 }),
        fc.integer({ min: 1, max: 60 }),
        (key, one, other, width) => {
          const [from, to] = [Math.min(one, other), Math.max(one, other)];
          const step = Math.min(width, to - from + 1);
          const minutes = (when: string) => new Set(valuesOf(normal(when, key).split(" ")[0] ?? ""));
          const [single, ...none] = minutes(`H(${from}-${to}) 9 * * *`);
          expect(none).toEqual([]);
          expect(single).toBeGreaterThanOrEqual(from);
          expect(single).toBeLessThanOrEqual(to);
          const stepped = [...minutes(`H(${from}-${to})/${step} 9 * * *`)];
          const [first = -1] = stepped;
          expect(first).toBeGreaterThanOrEqual(from);
          expect(first).toBeLessThan(from + step);
          const count = Math.floor((to - first) / step) + 1;
          expect(stepped).toEqual(Array.from({ length: count }, (_, index) => first + index * step));
        },
      ),
    );
  });

  test("an `H` in day-of-month is a day that every month has, unless the expression has a range", () => {
    const days = new Set(
      Array.from({ length: 2_000 }, (_, number) =>
        Number(normal("0 0 H * *", `key ${number}`).split(" ")[2]),
      ),
    );
    expect(Math.max(...days)).toBe(28);
    expect(days.size).toBe(28);
    expect(normal("0 0 H(31-31) * *", "a")).toBe("0 0 31 * *");
  });
});

/** The values of a normal field, in rising order. */
function valuesOf(field: string): number[] {
  const values = field.split(",").flatMap((item) => {
    const [base = "", step = "1"] = item.split("/");
    const [from = "0", to = item.includes("/") ? "59" : from] = base === "*" ? ["0", "59"] : base.split("-");
    const count = Math.floor((Number(to) - Number(from)) / Number(step)) + 1;
    return Array.from({ length: count }, (_, index) => Number(from) + index * Number(step));
  });
  return [...new Set(values)].sort((a, b) => a - b);
}
