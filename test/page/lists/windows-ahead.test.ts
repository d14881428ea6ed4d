import { expect, test } from "vitest";
import { windowsAhead } from "../../../lib/page/data/time/windows-ahead.ts";

test.each([
  // A Friday evening in Berlin, when New York has its afternoon.
  {
    now: "2026-11-27T22:30:40.000Z",
    zone: "Europe/Berlin",
    hour: ["2026-11-27T22:30", "2026-11-27T23:30"],
    tomorrow: ["2026-11-27T23:00", "2026-11-28T23:00"],
    monday: ["2026-11-30T08:00", "2026-11-30T09:00"],
  },
  {
    now: "2026-11-27T23:30:00.000Z",
    zone: "Europe/Berlin",
    hour: ["2026-11-27T23:30", "2026-11-28T00:30"],
    tomorrow: ["2026-11-28T23:00", "2026-11-29T23:00"],
    monday: ["2026-11-30T08:00", "2026-11-30T09:00"],
  },
  // On a Monday the next one is meant.
  {
    now: "2026-11-30T06:00:00.000Z",
    zone: "America/New_York",
    hour: ["2026-11-30T06:00", "2026-11-30T07:00"],
    tomorrow: ["2026-12-01T05:00", "2026-12-02T05:00"],
    monday: ["2026-12-07T14:00", "2026-12-07T15:00"],
  },
  // The clocks go forward tomorrow: its day has 23 hours, and Monday another offset.
  {
    now: "2026-03-28T10:00:00.000Z",
    zone: "Europe/Berlin",
    hour: ["2026-03-28T10:00", "2026-03-28T11:00"],
    tomorrow: ["2026-03-28T23:00", "2026-03-29T22:00"],
    monday: ["2026-03-30T07:00", "2026-03-30T08:00"],
  },
])("Windows ahead of $now are those of the clocks of $zone", ({ now, zone, hour, tomorrow, monday }) => {
  const windows = windowsAhead(Date.parse(now), zone);
  expect(windows.map(({ from, to }) => [from.slice(0, 16), to.slice(0, 16)])).toEqual([
    hour,
    tomorrow,
    monday,
  ]);
});
