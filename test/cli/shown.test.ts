import { describe, expect, test } from "vitest";
import { seenOnce } from "../../lib/cli/apply/seen-once.ts";
import { nearest } from "../../lib/cli/nearest.ts";
import { painter, printable } from "../../lib/cli/output/style.ts";
import { type Column, cut, tableLines, widthOf } from "../../lib/cli/output/table.ts";
import { durationText, measuredText, timesIn } from "../../lib/cli/times.ts";

const columns: Column<[string, string]>[] = [
  { title: "NAME", text: ([name]) => name },
  { title: "N", text: ([, n]) => n, align: "right", whole: true },
];

describe("tables", () => {
  const lines = (rows: [string, string][], width?: number) =>
    tableLines(columns, rows, { width, paint: painter(false) });

  test("A table aligns its columns, including East Asian text", () => {
    const rows: [string, string][] = [
      ["a", "1"],
      ["日本", "1000"],
    ];
    expect(lines(rows)).toEqual(["NAME     N", "a        1", "日本  1000"]);
  });

  test("A table shortens its widest shrinkable columns, and no others", () => {
    const [, row = ""] = lines([["x".repeat(50), "123456789"]], 30);
    expect(row).toBe(`${"x".repeat(18)}…  123456789`);
    expect(lines([["x".repeat(50), "1"]], 5)[1]).toBe(`${"x".repeat(7)}…  1`);
  });

  test("A table cuts between characters", () => {
    expect([cut("日本語", 4), widthOf(cut("日本語", 4))]).toEqual(["日…", 3]);
    expect(cut("abc", 3)).toBe("abc");
  });

  test("A table has one line per row, with any text", () => {
    expect(printable("a\nb\t\u001b[31m\u202ec\u0000")).toBe("a b \ufffd[31m\ufffdc\ufffd");
  });
});

describe("times", () => {
  const now = Date.parse("2026-03-29T00:30:00Z");
  const times = timesIn("Europe/Berlin", () => now);

  test("Times are shown in the zone, and relative to now", () => {
    expect(times.both("2026-03-29T01:00:00.000Z")).toBe("2026-03-29 03:00:00 (in 30m)");
    expect(times.both("2026-03-28T23:00:00.000Z")).toBe("2026-03-29 00:00:00 (1h 30m ago)");
    expect([times.both(null), times.relative("2026-03-29T00:30:00.200Z")]).toEqual(["-", "now"]);
  });

  test.each([
    [400, "0s"],
    [59_600, "1m"],
    [3_600_000, "1h"],
    [3_601_000, "1h"],
    [90_061_000, "1d 1h"],
    [86_400_000 * 40 + 3_600_000, "40d"],
  ])("A duration of %i ms is shown as %s", (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });

  test("Measured durations have finer units", () => {
    expect([12.4, 1_500, 200_000, null].map(measuredText)).toEqual(["12 ms", "1.5 s", "3m 20s", "-"]);
  });
});

test("A typo gets a similar suggestion, and an unrelated word none", () => {
  const words = ["put", "patch", "preview", "pause"];
  expect(["pt", "putt", "pasue", "prev", "zzz"].map((word) => nearest(word, words))).toEqual([
    "put",
    "put",
    "pause",
    "preview",
    undefined,
  ]);
});

test("Items of overlapping lists are printed once, even after old ones are forgotten", () => {
  const fresh = seenOnce((item: number) => String(item), 3);
  expect(
    [
      [1, 2],
      [2, 3],
      [3, 4],
      [4, 5],
      [3, 4, 5, 6],
    ].map((items) => fresh(items)),
  ).toEqual([[1, 2], [3], [4], [5], [6]]);
});
