import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Cadence } from "../../lib/cadence/cadence-kinds.ts";
import { readStoredForm, storedForm } from "../../lib/cadence/stored-cadence.ts";
import { arbitraryMember, arbitraryUnion } from "./arbitrary-cadence.ts";
import { arbitraryNearChange } from "./clock-changes.ts";

describe("the stored form of a cadence", () => {
  const cron: Cadence = { kind: "cron", expression: "0 9 * * 1-5", timezone: "Europe/Berlin" };
  const monthly: Cadence = {
    kind: "calendar-interval",
    every: 2,
    unit: "month",
    anchor: Date.parse("2026-01-31T09:00:00.250Z"),
    from: 0,
    timezone: "Europe/Berlin",
  };

  test.each<[Cadence, string, string]>([
    [cron, "0 9 * * 1-5", ""],
    [{ ...cron, dst: { gap: "skip" } }, "0 9 * * 1-5", "gap skip"],
    [{ ...cron, dst: { overlap: "both" } }, "0 9 * * 1-5", "overlap both"],
    [{ ...cron, dst: { gap: "next", overlap: "last" } }, "0 9 * * 1-5", "gap next, overlap last"],
    [monthly, "every 2 month from 2026-01-31T09:00:00.250", ""],
    [{ ...monthly, from: 1 }, "every 2 month after 2026-01-31T09:00:00.250", ""],
    [
      {
        kind: "union",
        of: [
          cron,
          { kind: "once", at: Date.parse("2026-12-24T12:00:00Z") },
          { kind: "interval", everyMs: 5_400_001, firstAt: 0 },
        ],
      },
      "0 9 * * 1-5 | at 2026-12-24T12:00:00.000Z | every 1h30m1ms from 1970-01-01T00:00:00.000Z",
      "",
    ],
  ])("the stored form of %j is %j with %j", (cadence, expression, dst) => {
    const stored = { expression, timezone: "Europe/Berlin", dst };
    expect(storedForm(cadence)).toEqual(stored);
    expect(readStoredForm(stored)).toEqual(cadence);
  });

  test("a stored cadence is read back exactly", () => {
    const cadences = arbitraryNearChange().chain(({ timezone, at }) =>
      fc.oneof(arbitraryMember(timezone, at), arbitraryUnion(timezone, at)),
    );
    fc.assert(
      fc.property(cadences, (cadence) => {
        const stored = storedForm(cadence);
        expect(readStoredForm(stored)).toEqual(cadence);
        expect(storedForm(readStoredForm(stored))).toEqual(stored);
      }),
      { numRuns: 1_000 },
    );
  });

  test("a union whose members differ in their zone or their rule for clock changes is not stored", () => {
    const elsewhere: Cadence = { kind: "cron", expression: "0 9 * * *", timezone: "UTC" };
    const skipping: Cadence = { ...cron, dst: { gap: "skip" } };
    for (const other of [elsewhere, skipping]) {
      expect(() => storedForm({ kind: "union", of: [cron, other] })).toThrow(/one time zone/);
    }
  });

  test.each([
    ["every 2 fortnight from 2026-01-31T09:00:00.000", ""],
    ["every 90m", ""],
    ["every 2 month from then", ""],
    ["at noon", ""],
    ["0 9 * * *", "gap sometimes"],
  ])("a text that is no stored form of a cadence is refused: %j with %j", (expression, dst) => {
    expect(() => readStoredForm({ expression, timezone: "UTC", dst })).toThrow(/not the stored form/);
  });
});
