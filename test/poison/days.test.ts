import { afterEach, beforeEach, expect, test } from "vitest";
import { archiveDays } from "../../lib/archive/archive-days.ts";
import type { ArchiveStore } from "../../lib/archive/archive-store.ts";
import { partDefaults } from "../../lib/archive/part.ts";
import type { Sql } from "../../lib/db/connect.ts";
import { OfNoRow } from "../../lib/quarantine/in-halves.ts";
import { lookAtDays } from "../../lib/retention/past-days.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { day, minute } from "../support/instants.ts";
import { connectAsMember, functionRoles } from "../support/role-logins.ts";
import { quarantined, told } from "./poison.ts";

let world: Carillon;
let archivist: Sql;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
  archivist = await connectAsMember(world.sql, world.databaseUrl, "carillon_archive", 1);
  // In production the lock timeout is longer.
  for (const sql of [archivist, world.as.tick]) await sql`set lock_timeout = '300ms'`;
});

afterEach(async () => {
  await archivist.end();
  await world.stop();
});

const retentionDays = 2;

/** A job on Monday, and then four days: those from Sunday to Tuesday are past. */
async function pastDays(): Promise<void> {
  await world.put("once", { when: "in 1m" });
  await world.tick();
  await world.clock.advance(minute);
  await world.work();
  await world.clock.advance(4 * day);
  await world.sql`update carillon.shards set watermark_at = carillon.clock()`;
}

const past = ["20260301", "20260302", "20260303"];
const sunday = "2026-03-01";
const monday = "2026-03-02";
const tuesday = "2026-03-03";

const left = async (parent: string) =>
  (
    await world.sql<{ day: string }[]>`
      select right(c.relname, 8) as day from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = ${`carillon.${parent}`}::text::regclass and right(c.relname, 8) = any(${past}::text[]) order by 1`
  ).map((row) => row.day);

const tick = (archives = false) => world.tick({ retentionDays, archives });

test.each(["jobs", "plan"])(
  "A day of the table %s that cannot be dropped is set aside, does not stop the others, and is dropped once repaired",
  async (parent) => {
    await pastDays();
    await world.sql.unsafe(`create view public.report as select * from carillon.${parent}_20260302`);
    await tick();
    expect(await left(parent)).toEqual(["20260302"]);
    const item = `${parent}_20260302`;
    expect(await quarantined(world)).toMatchObject([{ consumer: "day-drop", item, tries: 1 }]);
    expect(told(world)).toEqual([["day-drop", item]]);

    await world.sql`drop view public.report`;
    await tick();
    expect(await left(parent)).toEqual(["20260302"]);
    await world.clock.advance(minute);
    await tick();
    expect(await left(parent)).toEqual([]);
    expect(await quarantined(world)).toEqual([]);
  },
);

test.each(["jobs", "plan"])(
  "A day of the table %s that another transaction reads does not stop the others, and is not set aside",
  async (parent) => {
    await pastDays();
    await world.sql.begin(async (tx) => {
      await tx.unsafe(`lock table carillon.${parent}_20260301 in access share mode`);
      await tick();
      expect(await left(parent)).toEqual(["20260301"]);
      expect(await quarantined(world)).toEqual([]);
      expect(world.log.lines).toContainEqual(expect.objectContaining({ event: "tick.days-kept" }));
    });
    await tick();
    expect(await left(parent)).toEqual([]);
  },
);

test("A day of the plan that cannot be dropped does not stop days of jobs", async () => {
  await pastDays();
  await world.sql.begin(async (tx) => {
    await tx`lock table carillon.plan_20260301 in access share mode`;
    await tick();
    expect(await left("jobs")).toEqual([]);
  });
});

test("A day whose jobs cannot be checked is set aside, does not stop the others, and is dropped once repaired", async () => {
  await pastDays();
  await world.sql.begin(async (tx) => {
    await tx`lock table carillon.jobs_20260301 in access exclusive mode`;
    await tick();
    expect(await left("jobs")).toEqual(["20260301"]);
    expect(await quarantined(world)).toMatchObject([{ consumer: "day-look", item: sunday, tries: 1 }]);
  });
  await world.clock.advance(minute);
  await tick();
  expect(await left("jobs")).toEqual([]);
  expect(await quarantined(world)).toEqual([]);
});

function archive(refuse: (name: string) => Error | null): Promise<string[]> {
  const store: ArchiveStore = {
    put: async (name) => {
      const refusal = refuse(name);
      if (refusal !== null) throw refusal;
    },
  };
  return archiveDays(
    { sql: archivist, store, log: world.log },
    { retentionDays, part: partDefaults },
    () => false,
  );
}

const takesAll = () => null;

test("A day that cannot be archived does not stop the others, is not dropped meanwhile, and is archived once possible", async () => {
  await pastDays();
  const denied = new Error("Access Denied");
  expect(await archive((name) => (name.includes(`day=${sunday}`) ? denied : null))).toEqual([
    monday,
    tuesday,
  ]);
  expect(await quarantined(world)).toMatchObject([{ consumer: "archive", item: sunday, tries: 1 }]);
  expect(told(world)).toEqual([["archive", sunday]]);
  await tick(true);
  expect(await left("jobs")).toEqual(["20260301"]);

  expect(await archive(takesAll)).toEqual([]);
  await world.clock.advance(minute);
  expect(await archive(takesAll)).toEqual([sunday]);
  expect(await quarantined(world)).toEqual([]);
  await tick(true);
  expect(await left("jobs")).toEqual([]);
});

test("A day whose jobs cannot be read does not stop the archive of other days", async () => {
  await pastDays();
  await tick(true);
  await world.sql.begin(async (tx) => {
    await tx`lock table carillon.attempts_20260301, carillon.jobs_20260301 in access exclusive mode`;
    expect(await archive(takesAll)).toEqual([monday, tuesday]);
    expect(await quarantined(world)).toMatchObject([{ consumer: "archive", item: sunday, tries: 1 }]);
  });
});

test("Days that have failed before are archived last, and take no time from other days", async () => {
  await pastDays();
  const denied = new Error("Access Denied");
  await archive((name) => (name.includes(`day=${sunday}`) ? denied : null));
  await world.sql`update carillon.archived_days set archived_at = null where day > ${sunday}::text::date`;
  await world.clock.advance(minute);
  expect(await archive(takesAll)).toEqual([monday, tuesday, sunday]);
});

test("If S3 does not answer, the archive fails and sets no day aside", async () => {
  await pastDays();
  const silent = new Error("Socket timed out");
  await expect(archive(() => new OfNoRow(silent))).rejects.toBe(silent);
  expect(await quarantined(world)).toEqual([]);
  expect(await archive(takesAll)).toEqual([sunday, monday, tuesday]);
});

test("A day that another archive is working on keeps its quarantine entry", async () => {
  await pastDays();
  await archive((name) => (name.includes(`day=${sunday}`) ? new Error("Access Denied") : null));
  await world.clock.advance(minute);
  await world.sql`
    update carillon.archived_days set lease_until = carillon.clock() + interval '5 minutes' where day = ${sunday}::text::date`;
  expect(await archive(takesAll)).toEqual([]);
  expect(await quarantined(world)).toMatchObject([{ consumer: "archive", item: sunday }]);
});

test.each(["20260302", "20260303"])(
  "While the table of %s is locked, a day that a waiting job keeps does not stop the drop of other days, and they are not set aside",
  async (locked) => {
    await world.put("stuck", { when: "in 1m" });
    await world.tick();
    await world.clock.advance(4 * day);
    await world.sql`update carillon.shards set watermark_at = carillon.clock()`;
    await world.sql`delete from carillon.parcels`;
    const look = () => lookAtDays({ sql: archivist, log: world.log }, retentionDays, () => false);
    // Often enough that Postgres has changed from custom plans to the generic one.
    for (let each = 0; each < 12; each++) await look();
    await world.sql.begin(async (tx) => {
      await tx.unsafe(`lock table carillon.jobs_${locked} in access exclusive mode`);
      expect(await archive(takesAll)).toContain(sunday);
      await tick(true);
      expect(await left("jobs")).not.toContain("20260301");
      const blamed = (await quarantined(world)).filter(({ item }) => !item.includes(locked.slice(-2)));
      expect(blamed).toEqual([]);
    });
    expect(await left("jobs")).toContain("20260302");
  },
);
