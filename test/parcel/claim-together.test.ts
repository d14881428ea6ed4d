import { expect, test } from "vitest";
import { jobId } from "../../lib/job/job-id.ts";
import { parcelsOf } from "../../lib/parcel/claim-together.ts";
import { at } from "../support/instants.ts";

const row = (
  parcel: string,
  scheduleId: string,
  ms: number,
  parts: { kind?: "manual"; n?: number } = {},
) => ({
  parcel,
  // Postgres computes in fractions of a second, so a millisecond may come with a small error.
  occurrence: at(ms).getTime() + 0.0001,
  scheduleId,
  kind: parts.kind ?? null,
  n: parts.n ?? null,
  dueAt: null,
  attempt: null,
  plannedVersion: null,
  version: 1,
  key: `k-${scheduleId}`,
  group: null,
  target: { handler: "h" },
  payload: null,
  isHeavy: null,
  more: null,
});
const claimed = (parcel: string) => ({
  parcel,
  occurrence: null,
  more: { fence: 3, claimedAt: at(0).toISOString() },
});

test("the jobs of a parcel are sorted by their keys, in any order of the rows", () => {
  const parcels = parcelsOf([
    row("1", "10", 0),
    row("2", "7", 0),
    row("1", "9", 0, { n: 2 }),
    row("1", "9", 0, { kind: "manual", n: 1 }),
    row("1", "9", 0),
    row("1", "11", -1),
    row("3", "1", 0),
    claimed("1"),
    claimed("2"),
  ]);
  const ids = (id: string) => parcels.get(id)?.jobs.map(jobId);
  const instant = at(0).getTime();
  expect(ids("1")).toEqual([
    `11-${instant - 1}-c0`,
    `9-${instant}-c0`,
    `9-${instant}-c2`,
    `9-${instant}-m1`,
    `10-${instant}-c0`,
  ]);
  expect(ids("2")).toEqual([`7-${instant}-c0`]);
  expect([...parcels.keys()]).toEqual(["1", "2"]);
  expect(parcels.get("1")?.jobs[0]?.dueAt).toEqual(at(-1));
});
