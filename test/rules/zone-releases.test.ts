import { describe, expect, test } from "vitest";
import { offsetChanges } from "../../lib/cadence/zone/zone-spans.ts";
import { isNewer, type StoredOffsets, zonesThatDiffer } from "../../lib/rules/zone-data.ts";

describe("releases", () => {
  test.each([
    ["2026b", "2026a", true],
    ["2026a", "2026b", false],
    ["2026a", "2025z", true],
    ["2026a", "2026a", false],
    ["2026aa", "2026z", true],
    ["odd", "2026a", null],
  ])("release %s is newer than %s: %s", (version, than, newer) => {
    expect(isNewer(version, than)).toBe(newer);
  });

  const data = (rules: Record<string, StoredOffsets>, from = "2025-01-01", until = "2036-01-01") => ({
    version: "2026a",
    coversFrom: new Date(from),
    coversUntil: new Date(until),
    rules,
  });

  test("Releases are compared from now on, in the range that both cover", () => {
    const now = new Date("2026-11-02T10:00Z");
    const berlinNow = offsetChanges("Europe/Berlin", Date.UTC(2025, 0, 1), Date.UTC(2036, 0, 1)).map(
      ({ from, offset }) => [from, offset] as const,
    );
    const longerSummer = berlinNow.map(
      ([from, offset]) =>
        [from === Date.UTC(2026, 9, 25, 1) ? Date.UTC(2026, 10, 25, 1) : from, offset] as const,
    );
    const differ = (before: StoredOffsets, after: StoredOffsets, until?: string) =>
      zonesThatDiffer(data({ z: before }), data({ z: after }, "2025-06-01", until), now);
    expect(
      differ(
        berlinNow,
        berlinNow.filter(([from]) => from > Date.UTC(2025, 4, 1)),
      ),
    ).toEqual([]);
    expect(differ(berlinNow, longerSummer)).toEqual(["z"]);
    const cut = berlinNow.filter(([from]) => from < Date.UTC(2030, 0, 1));
    expect(differ(berlinNow, cut, "2030-01-01")).toEqual([]);
    expect(differ(berlinNow, cut)).toEqual(["z"]);
    expect(zonesThatDiffer(data({ gone: berlinNow }), data({}), now)).toEqual([]);
  });
});
