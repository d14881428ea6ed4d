import { afterEach, beforeEach, expect, test } from "vitest";
import { explain } from "../../lib/explain/explain.ts";
import { retryEntries } from "../../lib/quarantine/entries.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { planSteps, unknownZone } from "./plan-steps.ts";
import { quarantined } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
});

afterEach(() => world.stop());

const { occurrencesOf, zoneOf, ticks } = planSteps(() => world);

const keys = ["bad", "good"] as const;

/** Each occurrence that was passed over, and why; singly or as a range. */
const passedOver = (key: string) => world.sql<{ reason: string; from: Date; to: Date; count: number }[]>`
  select p.reason, p.from_at as "from", p.to_at as "to", p.count::int from carillon.passed_over p
  join carillon.schedules s on s.id = p.schedule_id where s.key = ${key}
  union all
  select j.reason, j.occurrence, j.occurrence, 1 from carillon.jobs j
  join carillon.schedules s on s.id = j.schedule_id where s.key = ${key} and j.state = 'skipped'
  order by "from"`;

async function sameLedger(): Promise<void> {
  expect(await quarantined(world)).toEqual([]);
  expect(await occurrencesOf("bad")).toEqual(await occurrencesOf("good"));
  const good = await passedOver("good");
  expect(good.map(({ reason }) => reason)).toContain("paused");
  expect(await passedOver("bad")).toEqual(good);
}

const lost = () => zoneOf("Asia/Tokyo", unknownZone);
/** Retries the schedule by command: one that waits for an hour misses more. */
const found = async () => {
  await zoneOf(unknownZone, "Asia/Tokyo");
  await retryEntries(world.sql, { filter: {}, limit: 10 });
};
const pauseFor = async (ms: number) => {
  for (const key of keys) await world.pause(key, { until: new Date(world.clock.now().getTime() + ms) });
};

beforeEach(async () => {
  await world.put("bad", { when: "*/3 * * * *", timezone: "Asia/Tokyo" });
  await world.put("good", { when: "*/3 * * * *", timezone: "Europe/Berlin" });
  await world.tick();
});

test.each([
  ["which began before", true],
  ["which began after", false],
])(
  "Occurrences passed over under a hold (%s its schedule was unreadable) are in the ledger as paused once it is readable",
  async (_, before) => {
    if (!before) await lost();
    await pauseFor(15 * minute);
    if (before) await lost();
    await ticks(18);
    expect(await quarantined(world)).toMatchObject([{ consumer: "plan" }]);
    await found();
    await ticks(8);
    await sameLedger();
  },
);

test.each([
  ["that was resumed", true],
  ["that had ended by itself, and was patched", false],
])(
  "Occurrences passed over under a hold (%s while its schedule was unreadable) are in the ledger as paused",
  async (_, resumed) => {
    if (resumed) for (const key of keys) await world.pause(key);
    else await pauseFor(15 * minute);
    await lost();
    await ticks(16);
    for (const key of keys)
      await (resumed ? world.resume(key) : world.patch(key, { payload: { now: true } }));
    await ticks(1);
    await found();
    await ticks(8);
    await sameLedger();
  },
);

test("Occurrences passed over under a hold are noted once, by an edit of a schedule that has become readable", async () => {
  for (const key of keys) await world.pause(key);
  await lost();
  await ticks(16);
  for (const key of keys) await world.resume(key);
  await found();
  for (const key of keys) await world.patch(key, { payload: { now: true } });
  await ticks(6);
  await sameLedger();
});

const unreadRanges = () => world.sql<{ key: string; reason: string; from: Date; to: Date; more: boolean }[]>`
  select s.key, p.reason, p.from_at as "from", p.to_at as "to", p.more from carillon.passed_over p
  join carillon.schedules s on s.id = p.schedule_id`;

test.each([
  ["", false],
  [" and under a pause", true],
])(
  "A schedule that is deleted in quarantine%s leaves a range in the ledger, from its first unplanned occurrence to the delete",
  async (_, paused) => {
    await lost();
    await ticks(10);
    if (paused) for (const key of keys) await world.pause(key);
    await ticks(5);
    expect(await quarantined(world)).toMatchObject([{ consumer: "plan" }]);
    for (const key of keys) await world.remove(key);
    expect(await quarantined(world)).toEqual([]);
    const good = { key: "good", reason: "paused", from: at(12 * minute), to: at(15 * minute), more: false };
    expect(await unreadRanges()).toEqual([
      { key: "bad", reason: "unreadable", from: at(6 * minute), to: at(15 * minute), more: true },
      ...(paused ? [good] : []),
    ]);
  },
);

test("The explanation of an instant at which a deleted schedule was in quarantine names the quarantine, the delete and its caller, and the unknown count", async () => {
  await lost();
  await ticks(10);
  await world.remove("bad");
  const told = (ms: number) => explain(world.as.api, { key: "bad", at: at(ms) });
  const why =
    "the cadence of its schedule could not be read, and no job was made from 2026-03-02T10:06:00Z on. It was deleted at 2026-03-02T10:10:00Z by token `ann`; the number of occurrences until then is not known.";
  const range = { from: at(6 * minute), to: at(10 * minute), reason: "unreadable" };
  const verdict = {
    outcome: "skipped",
    reason: "unreadable",
    passedOver: range,
    edit: { change: "deleted", by: "ann" },
  };
  for (const ms of [7 * minute, 9 * minute])
    expect(await told(ms)).toMatchObject({
      ...verdict,
      sentence: `Did not run, if it was an occurrence: ${why}`,
    });
  await zoneOf(unknownZone, "Asia/Tokyo");
  expect(await told(9 * minute)).toMatchObject({ ...verdict, sentence: `Did not run: ${why}` });
  expect(await told(7 * minute)).toMatchObject({ outcome: "not-an-occurrence" });
  expect(await told(11 * minute)).toMatchObject({ outcome: "deleted" });
});

test("A schedule that is deleted in quarantine before its next occurrence leaves no range in the ledger", async () => {
  await lost();
  await ticks(4);
  expect(await quarantined(world)).toMatchObject([{ consumer: "plan" }]);
  await world.remove("bad");
  expect(await unreadRanges()).toEqual([]);
});

/** The schedule has missed occurrences, but no tick has read it since: it is not in quarantine. */
async function missedByLateTicks(): Promise<void> {
  await lost();
  await world.clock.advance(20 * minute);
  expect(await quarantined(world)).toEqual([]);
}

const range = { key: "bad", reason: "unreadable", from: at(6 * minute), to: at(20 * minute), more: true };

test.each([
  ["put under another cadence", () => world.put("bad", { when: "every 1h" })],
  ["patched to another cadence", () => world.patch("bad", { when: "every 1h" })],
  ["deleted", () => world.remove("bad")],
])(
  "An unreadable schedule that late ticks have not reached and that is %s leaves a range in the ledger",
  async (_, edit) => {
    await missedByLateTicks();
    await edit();
    expect(await unreadRanges()).toEqual([range]);
    expect(await quarantined(world)).toEqual([]);
    expect(await explain(world.as.api, { key: "bad", at: at(9 * minute) })).toMatchObject({
      outcome: "skipped",
      reason: "unreadable",
      passedOver: { from: range.from, to: range.to, count: null },
    });
  },
);

test("A schedule in quarantine that is put with another cadence leaves a range in the ledger", async () => {
  await lost();
  await ticks(15);
  expect(await quarantined(world)).toMatchObject([{ consumer: "plan" }]);
  await world.put("bad", { when: "every 1h" });
  expect(await unreadRanges()).toEqual([{ ...range, to: at(15 * minute) }]);
  const told = await explain(world.as.api, { key: "bad", at: at(9 * minute) });
  expect(told).toMatchObject({ edit: { change: "replaced", by: "ann" }, passedOver: { count: null } });
  expect(told.sentence).toContain("It was edited at 2026-03-02T10:15:00Z by token `ann`; the number");
});

test("An unreadable schedule that late ticks have not reached, and whose cadence is kept by a patch, continues with its missed occurrences once readable", async () => {
  await missedByLateTicks();
  await world.patch("bad", { payload: { now: true } });
  expect(await unreadRanges()).toEqual([]);
  await found();
  await ticks(1);
  expect(await quarantined(world)).toEqual([]);
  expect(await passedOver("bad")).toMatchObject(
    [6, 9, 12, 15].map((minutes) => ({ reason: "missed", from: at(minutes * minute) })),
  );
});
