import { describe, expect, test, vi } from "vitest";
import { canonicalTimezone } from "../../lib/cadence/zone/timezone.ts";

describe("a zone's name", () => {
  test.each([
    ["europe/berlin", "Europe/Berlin"],
    ["utc", "UTC"],
    ["Etc/UTC", "UTC"],
    ["US/Eastern", "America/New_York"],
    ["etc/gmt+5", "Etc/GMT+5"],
    ["America/Argentina/Buenos_Aires", "America/Argentina/Buenos_Aires"],
    ["Asia/Kolkata", "Asia/Kolkata"],
    ["Asia/Calcutta", "Asia/Kolkata"],
    ["europe/kiev", "Europe/Kyiv"],
    ["Japan", "Asia/Tokyo"],
  ])("the zone %s is stored as %s", (name, canonical) => {
    expect(canonicalTimezone(name)).toBe(canonical);
  });

  test.each([
    ["+02:00", "an offset"],
    ["-0500", "an offset"],
    ["IST", "three letters that mean Ireland, Israel or India"],
    ["CST", "three letters that mean America or China"],
    ["SystemV/AST4", "a name that IANA has dropped"],
    ["Europe/Berlin ", "a name with a blank"],
    ["Europe/Berlin\u0000", "a name with a control character"],
    ["Factory", "a placeholder"],
    ["a".repeat(10_000), "no name at all"],
  ])("the zone %s is refused: it is %s", (name) => {
    expect(canonicalTimezone(name)).toBeNull();
  });

  test("every zone of the runtime is accepted, and its stored name is stored unchanged", () => {
    for (const name of Intl.supportedValuesOf("timeZone")) {
      const canonical = canonicalTimezone(name);
      expect(canonical, name).not.toBeNull();
      expect(canonicalTimezone(canonical ?? "")).toBe(canonical);
    }
  });

  test("UTC is resolved without Intl, whose data would be loaded at the start of a function", () => {
    const asked = vi.spyOn(Intl, "DateTimeFormat");
    try {
      expect(canonicalTimezone("UTC")).toBe("UTC");
      expect(asked).not.toHaveBeenCalled();
      canonicalTimezone("antarctica/TROLL");
      expect(asked).toHaveBeenCalledOnce();
    } finally {
      asked.mockRestore();
    }
  });
});
