import { afterEach, beforeEach, expect, test } from "vitest";
import { archiveDays } from "../../lib/archive/archive-days.ts";
import type { ArchiveStore } from "../../lib/archive/archive-store.ts";
import type { Sql } from "../../lib/db/connect.ts";
import { archiveLagMs } from "../../lib/retention/archive-lag.ts";
import { lookAtDays } from "../../lib/retention/past-days.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { day, hour, minute } from "../support/instants.ts";
import { connectAsMember } from "../support/role-logins.ts";

const retentionDays = 2;
const monday = "2026-03-02";

let world: Carillon;
let archivist: Sql;

beforeEach(async () => {
  world = await carillon();
  archivist = await connectAsMember(world.sql, world.databaseUrl, "carillon_archive");
});

afterEach(async () => {
  await archivist.end();
  await world.stop();
});

/**
 * Four jobs of Monday, which make two parts, and no job of another day. Then Monday's retention is
 * over.
 */
async function mondayIsOver(): Promise<void> {
  await world.put("often", { when: "every 1m", endsAt: "2026-03-02T10:04:30Z" });
  for (let passed = 0; passed < 6; passed++) {
    await world.tick();
    await world.work();
    await world.clock.advance(minute);
  }
  await world.clock.advance(3 * day);
  await world.sql`update carillon.shards set watermark_at = carillon.clock()`;
}

const archive = (store: ArchiveStore) =>
  archiveDays(
    { sql: archivist, store, log: world.log },
    { retentionDays, part: { jobs: 2, bytes: 1_000_000 } },
    () => false,
  );

/** A bucket in memory: the names of its objects, and a hook before each put of Monday. */
function bucket(before: (name: string) => Promise<unknown> = async () => {}) {
  const names: string[] = [];
  const put: ArchiveStore["put"] = async (name) => {
    if (!name.startsWith(`jobs/day=${monday}/`)) return;
    const short = name.slice(`jobs/day=${monday}/`.length);
    await before(short);
    names.push(short);
  };
  return { names, put };
}

const whole = ["part-00001.jsonl.gz", "part-00002.jsonl.gz", "manifest.json"];

const progress = async () =>
  (
    await world.sql`select parts, jobs::int, archived_at is not null as there from carillon.archived_days where day = ${monday}`
  )[0];

/**
 * An archiver that stalls at a put of Monday for longer than its lease, while another one archives
 * the whole day.
 */
async function stalledAt(stall: string) {
  const other = bucket();
  const slow: ReturnType<typeof bucket> = bucket(async (name) => {
    if (name !== stall) return;
    await world.clock.advance(17 * minute);
    expect(await archive(other)).toContain(monday);
  });
  return { told: await archive(slow), slow: slow.names, other: other.names };
}

test("an archiver that was overtaken in the middle of a day stops, and keeps the progress of the other", async () => {
  await mondayIsOver();
  const { told, slow, other } = await stalledAt("part-00001.jsonl.gz");
  expect(told).not.toContain(monday);
  expect(other).toEqual(whole);
  expect(slow).toEqual(["part-00001.jsonl.gz"]);
  // If the progress were set back to one part, a later archive of the day would leave the second
  // part, and its jobs would be there twice.
  expect(await progress()).toEqual({ parts: 2, jobs: 4, there: true });
});

test("an archiver that was overtaken at the end of a day does not report the day", async () => {
  await mondayIsOver();
  const { told, other } = await stalledAt("manifest.json");
  // Otherwise the day would be logged and counted twice.
  expect(told).not.toContain(monday);
  expect(other).toEqual(["manifest.json"]);
  expect(await progress()).toEqual({ parts: 2, jobs: 4, there: true });
});

test("the lag of the archive is that of the oldest day that is not archived", async () => {
  await mondayIsOver();
  const lag = async () => (await archiveLagMs(world.as.tick, retentionDays)) / hour;
  await lookAtDays({ sql: world.as.tick, log: world.log }, retentionDays, () => false);
  // Sunday was past the retention at the beginning of Wednesday; it is ten o'clock on Thursday.
  expect(await lag()).toBeCloseTo(34.1, 5);
  await archive(bucket());
  // Archived days do not count: an alarm that never ends is ignored.
  expect(await lag()).toBe(0);
});
