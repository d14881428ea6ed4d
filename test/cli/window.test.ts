import { expect, test } from "vitest";
import { timesIn } from "../../lib/cli/times.ts";
import { windowFrom } from "../../lib/cli/window.ts";

// A Monday, 11:00 in Berlin.
const now = Date.parse("2026-03-02T10:00:00Z");

const read = (text: string, zone = "Europe/Berlin") => {
  const { from, to } = windowFrom(text, { times: timesIn(zone, () => now), now });
  return `${from} ${to}`.replaceAll(":00.000Z", "");
};

test.each([
  ["Mon 12:55..13:05", "2026-03-02T11:55 2026-03-02T12:05"],
  ["mon 08:55..09:05", "2026-03-09T07:55 2026-03-09T08:05"],
  ["last mon 8..9", "2026-02-23T07:00 2026-02-23T08:00"],
  ["last friday", "2026-02-26T23:00 2026-02-27T23:00"],
  ["tue", "2026-03-02T23:00 2026-03-03T23:00"],
  ["8..9", "2026-03-02T07:00 2026-03-02T08:00"],
  ["tomorrow 9..10", "2026-03-03T08:00 2026-03-03T09:00"],
  ["Mon 22:30..Tue 2", "2026-03-02T21:30 2026-03-03T01:00"],
  ["today 22:30..tomorrow 2:00", "2026-03-02T21:30 2026-03-03T01:00"],
  ["fri 8..mon 8", "2026-03-06T07:00 2026-03-09T07:00"],
  ["last fri 22..sat 2", "2026-02-27T21:00 2026-02-28T01:00"],
  ["today 22..24", "2026-03-02T21:00 2026-03-02T23:00"],
  ["Mon 12:55 .. 13:05", "2026-03-02T11:55 2026-03-02T12:05"],
  ["2026-12-01 08:00 ..10:00", "2026-12-01T07:00 2026-12-01T09:00"],
  ["2026-12-01 08:00:00+02:00 .. 2026-12-01 09:00", "2026-12-01T06:00 2026-12-01T08:00"],
  ["2026-12-01 08:00 Asia/Tokyo..2026-12-01 09:00 Asia/Tokyo", "2026-11-30T23:00 2026-12-01T00:00"],
  ["2h ago..now", "2026-03-02T08:00 2026-03-02T10:00"],
  ["2026-12-01 08:00..10:00", "2026-12-01T07:00 2026-12-01T09:00"],
  ["2026-12-01", "2026-11-30T23:00 2026-12-01T23:00"],
  ["2026-12-01T08:00..2026-12-02T08:00Z", "2026-12-01T07:00 2026-12-02T08:00"],
  ["+2h", "2026-03-02T10:00 2026-03-02T12:00"],
  ["next 90m", "2026-03-02T10:00 2026-03-02T11:30"],
  ["last 30m", "2026-03-02T09:30 2026-03-02T10:00"],
])("A window is read in the zone of shown times: %s", (text, window) => {
  expect(read(text)).toBe(window);
});

test("A window on the day of a clock change ends at its wall time", () => {
  expect(read("2026-03-29 1..4")).toBe("2026-03-29T00:00 2026-03-29T02:00");
  expect(read("2026-10-25")).toBe("2026-10-24T22:00 2026-10-25T23:00");
});

test("A window that begins or ends in a skipped or repeated hour is refused with what to write", () => {
  expect(() => read("2026-03-29 2:30..4")).toThrow(
    "2026-03-29 02:30:00 does not exist in Europe/Berlin, where the clocks go forward over it.",
  );
  expect(() => read("2026-10-25 1..2")).toThrow(
    'write "2026-10-25 02:00:00+02:00" or "2026-10-25 02:00:00+01:00"',
  );
  expect(read("2026-10-25 01:00..2026-10-25 02:00:00+01:00")).toBe("2026-10-24T23:00 2026-10-25T01:00");
});

test.each(["Mon 9:05..8:55", "9..9", "tomorrow..today", "2026-12-02..2026-12-01", "+0m"])(
  "A window that ends before it begins is refused, with how to end it on another day: %s",
  (text) => {
    expect(() => read(text)).toThrow(/ends after it begins, .* needs its day: `Mon 22:00..Tue 02:00`/);
  },
);

test.each([
  "",
  "..",
  "soon",
  "monsoon 8..9",
  "8..25",
  "8:75..9",
  "8",
  "2026-13-01",
  "2026-02-31",
  "2026-02-31 8..9",
  "8..9..10",
  "2026-12-01 08:00 Asia/Tokyo..09:00",
  "+2 parsecs",
  "moon",
])("A text that is no window is refused with examples: %j", (text) => {
  expect(() => read(text)).toThrow(/^A window is a day with times \(`Mon 08:55..09:05`.*; not "/);
});
