import { afterEach, beforeEach, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { findSubject } from "../../lib/explain/facts.ts";
import { nothingKnown } from "../../lib/ingest/memory.ts";
import { readReleases } from "../../lib/ingest/releases.ts";
import { readStandings } from "../../lib/ingest/standing.ts";
import type { Understood } from "../../lib/ingest/understand.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute } from "../support/instants.ts";
import { touched } from "../support/touched.ts";

/** A watch that was put and deleted each minute: its key has had thousands of schedules. */

let world: Carillon;
let own: Sql;

const times = 3_000;
const key = "watch";

beforeEach(async () => {
  world = await carillon();
  await world.put(key, { when: "every 1h" });
  await world.remove(key);
  await world.sql`
    insert into carillon.schedules (key, shard, queue, target_kind, target_id, tags, created_at, created_by, updated_at, updated_by, deleted_at)
    select s.key, s.shard, s.queue, s.target_kind, s.target_id, s.tags, s.created_at + n * interval '1 minute', s.created_by,
      s.created_at + n * interval '1 minute', 'bob', s.created_at + n * interval '1 minute' + interval '30 seconds'
    from carillon.schedules s, generate_series(1, ${times}) n`;
  await world.sql`analyze carillon.schedules`;
  own = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
  // The planner reads the whole table if nearly all of its rows have one key.
  await own`set enable_seqscan = off`;
});

afterEach(async () => {
  await own.end();
  await world.stop();
});

const last = at(times * minute);

/** How many entries of deleted schedules, and rows by sequential scans, were read. */
async function read(act: () => Promise<unknown>): Promise<number> {
  await act();
  const { index, scanned } = await touched(own, act);
  return (index["schedules_deleted_key"] ?? 0) + (scanned["schedules"] ?? 0);
}

test("a command of the queue reads only the schedules of its key that were deleted since it was given", async () => {
  const since = new Date(last.getTime() - 2 * minute);
  const standing = async () => (await readStandings(own, new Map([[key, since]])))(key);
  expect(await read(standing)).toBeLessThan(10);
  expect(await standing()).toMatchObject({ id: null, goneAt: new Date(last.getTime() + minute / 2) });
});

test("the query for the release of a hold reads only the schedules that were deleted since the hold began", async () => {
  const given = new Date(last.getTime() - 2 * minute).toISOString();
  const hold = { stamp: "", id: "1", at: given, input: {}, owner: "a", kind: "pause" as const };
  const command = { operation: { kind: "pause", key }, kept: hold } as unknown as Understood;
  const released = async () => (await readReleases(own, [command], () => nothingKnown))(key, hold);
  expect(await read(released)).toBeLessThan(10);
  expect(await released()).toBe(true);
});

test.each([
  ["an instant long ago", at(hour), 60],
  ["an instant of the last schedule", new Date(last.getTime() + 1_000), times],
  ["an instant after the last schedule", at(2 * times * minute), times],
])("the schedule of a key at an instant is found by reading few rows (%s)", async (_, instant, n) => {
  const found = () => findSubject(own, key, instant);
  expect(await read(found)).toBeLessThan(20);
  expect(await found()).toMatchObject({ createdAt: at(n * minute) });
});
