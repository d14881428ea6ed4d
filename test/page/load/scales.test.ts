import { describe, expect, test } from "vitest";
import { countTicks, timeTicks } from "../../../lib/page/data/load/curve-scale.ts";
import { dayMapOf } from "../../../lib/page/data/load/day-map.ts";
import { heatColours, heatLevel } from "../../../lib/page/data/load/heat.ts";
import { midnightLoad } from "../../../lib/page/data/load/midnight.ts";
import { effectText } from "../../../lib/page/data/load/planned-text.ts";
import { hourSums, hoursFrom, weekOf } from "../../../lib/page/data/load/week-map.ts";
import { minute } from "../../support/instants.ts";

/** A run in each of these minutes. */
const everyMinute = (from: string, count: number) =>
  Array.from({ length: count }, (_, n) => ({
    at: new Date(Date.parse(from) + n * minute).toISOString(),
    fires: 1,
    beyond: false,
  }));

describe("the numbers of heat maps", () => {
  test("The peak has the darkest colour, no run has none, and each colour says its numbers", () => {
    const colours = heatColours([0, 1, 42, 42_000]);
    expect(colours).toEqual([
      { level: 1, from: 1, to: 1 },
      { level: 3, from: 42, to: 42 },
      { level: 5, from: 42_000, to: 42_000 },
    ]);
    expect([0, 1, 9, 42_000, 50_000].map((count) => heatLevel(count, colours))).toEqual([0, 1, 3, 5, 5]);
    expect(heatColours([0, 7, 7])).toEqual([{ level: 5, from: 7, to: 7 }]);
    expect(heatColours([0])).toEqual([]);
  });

  test("A peak of fifty times the usual count leaves four colours to the differences below it", () => {
    const usual = Array.from({ length: 160 }, (_, n) => 5_000 + 50 * (n % 40));
    const colours = heatColours([...usual, 250_000]);
    expect(colours.map(({ level }) => level)).toEqual([1, 2, 3, 4, 5]);
    expect(colours.at(-1)).toEqual({ level: 5, from: 250_000, to: 250_000 });
    const shares = colours
      .slice(0, 4)
      .map(({ from, to }) => usual.filter((count) => count >= from && count <= to).length);
    expect(Math.min(...shares)).toBeGreaterThan(20);
  });

  test("Counts that are about the same have one colour, which is not dark", () => {
    const week = [29_896, 29_995, 30_019, 30_057, 30_071, 30_104, 30_120, 30_166];
    expect(heatColours(week)).toEqual([{ level: 3, from: 29_896, to: 30_166 }]);
    expect(heatColours([7, 7])).toEqual([{ level: 3, from: 7, to: 7 }]);
    expect(heatColours([...week, 250_000])).toEqual([
      { level: 1, from: 29_896, to: 30_166 },
      { level: 5, from: 250_000, to: 250_000 },
    ]);
  });

  test.each(Array.from({ length: 40 }, (_, n) => 1.01 + n / 40))(
    "No two colours of a map look alike, and neighbours differ by a twentieth, with a peak of %f times the least",
    (ratio) => {
      const counts = Array.from({ length: 168 }, (_, n) => Math.round(30_000 * ratio ** (n / 167)));
      const colours = heatColours(counts);
      expect(new Set(colours.map(({ level }) => level)).size).toBe(colours.length);
      const means = colours.map(({ from, to }) => Math.sqrt(from * to));
      for (const [place, mean] of means.slice(1).entries())
        expect(mean / (means[place] ?? 1)).toBeGreaterThan(1.045);
    },
  );

  test("The hour that a clock change leaves out has no row, and a repeated one has two", () => {
    const labels = (from: string) =>
      dayMapOf({ minutes: everyMinute(from, 180), spread: null }, "Europe/Berlin").rows.map(
        ({ label, note }) => [label, note?.replace(/:.*/, "")],
      );
    expect(labels("2026-03-29T00:00:00.000Z")).toEqual([
      ["Sun 01", undefined],
      ["03", "The clocks go forward"],
      ["04", undefined],
    ]);
    expect(labels("2026-10-25T00:00:00.000Z")).toEqual([
      ["Sun 02", undefined],
      ["02", "The clocks go back"],
      ["03", undefined],
    ]);
  });

  test("A map that begins within an hour ends within one, and has each minute once", () => {
    const { rows, cells } = dayMapOf(
      { minutes: everyMinute("2026-06-01T10:40:00.000Z", 1_440), spread: null },
      "Asia/Kathmandu",
    );
    expect(rows).toHaveLength(25);
    expect(rows.reduce((sum, { total }) => sum + total, 0)).toBe(1_440);
    expect(new Set(cells.map(({ row, column }) => `${row} ${column}`)).size).toBe(1_440);
  });

  test("A day of 25 hours takes two questions, and its repeated hour is the sum of both", () => {
    const [day] = weekOf(Date.parse("2026-10-24T22:00:00.000Z"), "Europe/Berlin");
    if (day === undefined) throw new Error("The week has no day.");
    expect(day.asks.map(({ minutes }) => minutes)).toEqual([1_440, 60]);
    const sums = hourSums(
      day,
      day.asks.map(({ begin, minutes }) => ({
        minutes: everyMinute(new Date(begin).toISOString(), minutes),
      })),
    );
    expect(sums).toEqual(sums.map((_, at) => (at === 2 ? 120 : 60)));
    expect(day.hours.filter(({ isTwice }) => isTwice).map(({ hour: at }) => at)).toEqual([2]);
  });

  test("Passed hours of today and the hour that does not exist have no number", () => {
    const [day] = weekOf(Date.parse("2026-03-29T01:00:00.000Z"), "Europe/Berlin");
    const states = day?.hours.slice(0, 4).map(({ state }) => state);
    expect(states).toEqual(["passed", "passed", "missing", "ahead"]);
  });

  test("The hour that has begun keeps the rest of it, and the hours before it have passed", () => {
    const first = Date.parse("2026-06-01T10:20:00.000Z");
    const hours = (zone: string) => {
      const [day] = weekOf(Date.parse("2026-06-01T10:00:00.000Z"), zone);
      return hoursFrom(day?.hours ?? [], first).map(
        ({ state, isBegun, from, to }) =>
          `${state}${isBegun ? " begun" : ""}${state === "ahead" ? ` ${(to - from) / minute}` : ""}`,
      );
    };
    expect(hours("UTC").slice(9, 12)).toEqual(["passed", "ahead begun 40", "ahead 60"]);
    // 16:05 there: the hour before has ended since the begin of the hour of UTC.
    expect(hours("Asia/Kathmandu").slice(15, 18)).toEqual(["passed", "ahead begun 55", "ahead 60"]);
  });

  test("Minutes beyond the end of a day are not counted for its hours", () => {
    const [day] = weekOf(Date.parse("2026-06-01T20:00:00.000Z"), "Europe/Berlin");
    if (day === undefined) throw new Error("The week has no day.");
    const sums = hourSums(day, [{ minutes: everyMinute("2026-06-01T20:30:00.000Z", 120) }]);
    expect(sums.slice(21)).toEqual([null, 30, 60]);
  });
});

describe("the scales of the curve", () => {
  test("The numbers of a curve are round, and there are two to five of them", () => {
    expect([4, 5, 19, 1_146, 250_000].map(countTicks)).toEqual([
      [2, 4],
      [2, 4],
      [5, 10, 15],
      [500, 1_000],
      [100_000, 200_000],
    ]);
  });

  test("The times of a curve are round in the zone of the screen, and a day has its midnight", () => {
    const minutes = everyMinute("2026-06-01T10:41:00.000Z", 1_440);
    const texts = timeTicks(minutes, "Asia/Kathmandu").map(({ text }) => text);
    expect(texts).toEqual(["18:00", "21:00", "00:00", "03:00", "06:00", "09:00", "12:00", "15:00"]);
    const hourTexts = timeTicks(everyMinute("2026-06-01T10:41:00.000Z", 60), "UTC").map(({ text }) => text);
    expect(hourTexts).toEqual(["10:50", "11:00", "11:10", "11:20", "11:30", "11:40"]);
  });
});

test("The effect of a spread says where more runs than before come from", () => {
  expect(effectText(814, 60, true)).toBe("the busiest minute has 60 runs instead of 814");
  expect(effectText(814, 814, false)).toBe("the busiest minute still has about 814 runs: it has no effect");
  expect(effectText(5, 700, false)).toBe(
    "the busiest minute has about 700 runs instead of about 5: the spread moves runs of the time before into this time",
  );
});

describe("the load around midnight", () => {
  const busy = (fires: Readonly<Record<string, number>>) =>
    everyMinute("2026-03-28T22:00:00Z", 180).map((each) => ({
      ...each,
      fires: fires[each.at.slice(11, 16)] ?? 1,
    }));

  test("The busiest minute within ten minutes of midnight counts, before and with a spread", () => {
    const minutes = busy({ "22:53": 40, "23:02": 30, "23:11": 90 });
    const spread = busy({ "23:04": 12, "23:30": 80 });
    expect(midnightLoad(minutes, { spread, zone: "Europe/Berlin" })).toEqual({
      midnight: "2026-03-28T23:00:00.000Z",
      at: "2026-03-28T22:53:00.000Z",
      fires: 40,
      spread: 12,
    });
    expect(midnightLoad(minutes, { spread: null, zone: "Europe/Berlin" })?.spread).toBeNull();
  });

  test("Minutes without a midnight have no load around it", () => {
    expect(midnightLoad(busy({}), { spread: null, zone: "America/New_York" })).toBeNull();
    expect(midnightLoad([], { spread: null, zone: "UTC" })).toBeNull();
  });
});
