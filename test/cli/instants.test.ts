import { describe, expect, test } from "vitest";
import { readInstant } from "../../lib/cli/instants.ts";
import { cut, wholeTime } from "../../lib/cli/output/table.ts";
import { timesIn } from "../../lib/cli/times.ts";

const now = Date.parse("2026-11-26T09:30:15.250Z");

const read = (text: string, zone = "Europe/Berlin") =>
  new Date(readInstant({ text, option: "--at", zone, now })).toISOString();

describe("instants that a person writes", () => {
  test.each([
    ["2026-11-23T08:00:00Z", "2026-11-23T08:00:00.000Z"],
    ["2026-11-23T08:00Z", "2026-11-23T08:00:00.000Z"],
    ["2026-11-23 09:00:00+01:00", "2026-11-23T08:00:00.000Z"],
    ["2026-11-23T08:00:00.123Z", "2026-11-23T08:00:00.123Z"],
    ["2026-11-23 09:00", "2026-11-23T08:00:00.000Z"],
    ["2026-11-23T09:00:30", "2026-11-23T08:00:30.000Z"],
    ["2026-11-23 09:00:00 Asia/Tokyo", "2026-11-23T00:00:00.000Z"],
    ["2026-11-23 09:00 (Asia/Tokyo)", "2026-11-23T00:00:00.000Z"],
    ["2026-11-23T09:00:00+09:00[Asia/Tokyo]", "2026-11-23T00:00:00.000Z"],
    ["2026-11-23", "2026-11-22T23:00:00.000Z"],
    ["2026-11-23 Asia/Tokyo", "2026-11-22T15:00:00.000Z"],
    ["09:00", "2026-11-26T08:00:00.000Z"],
    ["now", "2026-11-26T09:30:15.250Z"],
    ["in 3h 5m", "2026-11-26T12:35:15.250Z"],
    ["1h 30m ago", "2026-11-26T08:00:15.250Z"],
  ])("%s is read, without an offset in the zone of shown times", (text, instant) => {
    expect(read(text)).toBe(instant);
  });

  test("A day begins when the clocks show its first hour, also where midnight does not exist", () => {
    expect(read("2026-09-06", "America/Santiago")).toBe("2026-09-06T04:00:00.000Z");
  });

  test.each(["tomorrow", "2026-02-30", "2026-13-01", "2026-11-23 25:00", "2026-11-23 09:00 Mars/Base", ""])(
    "What is no instant is refused, with what is allowed: %j",
    (text) => {
      expect(() => read(text)).toThrow(
        /^--at takes an instant such as .*, a time in Europe\/Berlin such as "2026-12-01 09:00"/,
      );
    },
  );

  test("An hour that comes twice, or that does not exist, is refused with its zone and what to write", () => {
    expect(() => read("2026-10-25 02:30")).toThrow(
      '--at: 2026-10-25 02:30:00 comes twice in Europe/Berlin, where the clocks go back: write "2026-10-25 02:30:00+02:00" or "2026-10-25 02:30:00+01:00".',
    );
    expect(() => read("2026-03-29 02:30")).toThrow(
      "--at: 2026-03-29 02:30:00 does not exist in Europe/Berlin, where the clocks go forward over it.",
    );
  });
});

describe("instants that a command prints", () => {
  test.each(["UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu"])(
    "Every half hour around the clock changes of %s is printed and read back as the same second",
    (zone) => {
      const times = timesIn(zone, () => now);
      for (const day of ["2026-03-08", "2026-03-29", "2026-04-05", "2026-10-04", "2026-10-25", "2026-11-01"])
        for (let half = -30; half < 60; half++) {
          const instant = Date.parse(`${day}T00:00:00Z`) + half * 1_800_000;
          const printed = times.both(new Date(instant + 789).toISOString());
          for (const text of [
            printed.replace(/ \(.*/, ""),
            half % 2 === 0 ? printed : printed.replace(/\)$/, "…"),
          ])
            expect(read(text, zone), text).toBe(new Date(instant).toISOString());
        }
    },
  );

  test("The narrowest column of times keeps the whole time", () => {
    const printed = timesIn("Europe/Berlin", () => now).both("2026-11-23T08:00:07.000Z");
    expect(read(cut(printed, wholeTime))).toBe("2026-11-23T08:00:07.000Z");
  });
});
