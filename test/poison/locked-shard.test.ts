import { afterEach, beforeEach, expect, test } from "vitest";
import { readCalendarRules } from "../../lib/cadence/calendar-rules.ts";
import { closeGate } from "../../lib/db/locks.ts";
import { defineGroups } from "../../lib/limit/define-limits.ts";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import { dueOnce } from "../parcel/limit-world.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { impatientTick, quarantined } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const keys = ["a", "b", "c", "d"];

/** `a` and `c` are in shard 3, the others in shard 2. */
async function putAll(body: object): Promise<void> {
  for (const key of keys) await world.put(key, body);
  for (const table of ["plan", "plan_far"])
    await world.sql`
      update carillon.${world.sql(table)} p set shard = case when s.key in ('a', 'c') then 3 else 2 end
      from carillon.schedules s where s.id = p.schedule_id`;
  await world.sql`update carillon.schedules set shard = case when key in ('a', 'c') then 3 else 2 end`;
}

async function putCalendarOf(dates: string[], most: number): Promise<void> {
  const read = readCalendarRules({ dates });
  if (!read.ok) throw new Error(JSON.stringify(read.faults));
  const params = { name: "c", body: { description: null, rules: read.rules }, caller: { name: "ann" } };
  await putCalendar({ sql: world.sql, queue: world.queue }, params, { most, ms: 5_000 });
}

const keysOf = async (where: string) =>
  (await world.sql.unsafe(`select key from carillon.schedules where ${where} order by key`)).map(
    ({ key }) => key,
  );

const wantHolds = (where: string) =>
  world.sql.unsafe(`
    insert into carillon.wanted_holds (schedule_id, version, reason, at)
    select id, version, 'fails', carillon.clock() from carillon.schedules where ${where} order by key`);

const cases = {
  "follows its handler": {
    begin: async () => {
      await putAll({ when: "in 300d", target: { handler: "digest" }, group: "person:1" });
      await defineGroups(world.sql, [{ name: "digest", grouped: true }]);
      await world.clock.advance(3 * minute);
    },
    done: "lane is not null",
  },
  "has a pending hold": {
    begin: async () => {
      await putAll({ when: "in 300d" });
      await wantHolds("true");
    },
    done: "held_since is not null",
  },
  "follows its calendar": {
    begin: async () => {
      await putCalendarOf([], 0);
      await putAll({ when: "0 9 * * *", calendar: { name: "c", on: "skip" } });
      await putCalendarOf(["2026-03-03"], 0);
    },
    done: "version = 2",
  },
};

test.each(Object.entries(cases))(
  "A schedule that %s is not set aside if the lock of its shard is not granted, and those of other shards continue",
  async (_, { begin, done }) => {
    await begin();
    await impatientTick(world);
    await world.sql.begin(async (tx) => {
      await closeGate(tx, 3);
      await expect(world.tick()).rejects.toThrow(/^1 parts? of the tick failed: .*lock timeout/);
      expect(await keysOf(done)).toEqual(["b", "d"]);
      expect(await quarantined(world)).toEqual([]);
    });
    await world.tick();
    expect(await keysOf(done)).toEqual(keys);
  },
);

test("More than a page of schedules to hold, all of a locked shard, do not stop those of other shards", async () => {
  await dueOnce(world, "old", 110, { when: "in 300d" });
  await world.put("b", { when: "in 300d" });
  for (const table of ["schedules", "plan", "plan_far"])
    await world.sql`update carillon.${world.sql(table)} set shard = 3`;
  await world.sql`update carillon.schedules set shard = 2 where key = 'b'`;
  await wantHolds("key <> 'b'");
  await wantHolds("key = 'b'");
  await impatientTick(world);
  await world.sql.begin(async (tx) => {
    await closeGate(tx, 3);
    await expect(world.tick()).rejects.toThrow("lock timeout");
    expect(await keysOf("held_since is not null")).toEqual(["b"]);
    expect(await quarantined(world)).toEqual([]);
  });
});
