import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

/**
 * The tables that one tick, claim, settle or edit of a schedule reads and writes. Each row has the
 * number of its shard.
 */
const hot: readonly string[] = [
  ...["shards", "schedules", "schedule_versions", "holds", "plan", "plan_far", "backlog"],
  ...[
    "parcels",
    "parcel_times",
    "jobs",
    "jobs_beside",
    "attempts",
    "dead_jobs",
    "failure_runs",
    "wanted_holds",
    "passed_over",
  ],
  ...["pulses", "pulses_passed"],
];

/** Why the other tables have no shard. */
const others: Readonly<Record<string, readonly string[]>> = {
  "small, and read by all parts: the same on every server": [
    ...["cadences", "calendars", "calendar_versions", "calendar_turns"],
    ...["targets", "pulse_targets", "shared_holds"],
    ...["lifecycle", "retention", "zone_data", "zone_updates", "caller_prefixes", "migrations"],
    "sealing_keys",
  ],
  "on its way between two installations, which may have different shards": [
    ...["moved_schedules", "arrived_schedules"],
  ],
  "found by a lane, which has jobs of several shards if a group shares it": ["lane_entries"],
  "found by a label, a key or a time over all schedules": ["schedule_tags", "audit"],
  "found by an error of schedules of all shards": ["error_groups"],
  "leads from a job to the audit, which has no shard": ["job_requests"],
  "belongs to a caller, before its schedules are known": [
    ...["tokens", "rate_buckets", "earlier_secrets", "idempotency", "idempotency_steps"],
    ...["inbox", "inbox_refusals", "command_marks", "dead_commands"],
    ...["teams", "team_list", "quota_limits", "cursor_key", "moves"],
  ],
  "a sum of a transaction or of a minute, not of a schedule": [
    ...["tallies", "target_work", "schedule_tallies", "schedule_counts", "usage"],
    ...["minutes", "minute_lateness", "minute_pulse_lateness"],
  ],
  "a queue, read in its own order by one part at a time": ["outbox", "quarantine"],
  "housekeeping of days, or a round through all rows": [
    ...[
      "archived_days",
      "open_days",
      "looked_days",
      "stirred_days",
      "purges",
      "over_schedules",
      "zone_moves",
    ],
    "cadence_round",
    "target_round",
    "pulse_target_round",
    "heartbeat",
    "outages",
    "unfinished_migrations",
  ],
};

/**
 * Unique indexes that name neither shard nor schedule, and why they may. They would need more
 * columns if several servers gave out the ids.
 */
const uniqueByItself: Readonly<Record<string, string>> = {
  shards_pkey: "id is the shard",
  schedules_pkey: "id decides the shard",
  schedules_live_key: "two shards could each take the same key: docs/scale.md has the consequences",
  parcels_pkey: "a parcel belongs to one shard: (shard, id) is as unique",
  backlog_pkey: "a row belongs to one schedule: (shard, id) is as unique",
  wanted_holds_pkey: "a row belongs to one schedule: (shard, id) is as unique",
};

let database: TestDatabase;
let sql: Sql;

beforeAll(async () => {
  database = await testDatabase();
  sql = connect({ DATABASE_URL: database.url }, { max: 1 });
});

afterAll(async () => {
  await sql.end();
  await database.drop();
});

describe("the shard", () => {
  test("every table is listed here as hot, with a shard in each row, or with the reason why it has none", async () => {
    const tables = await sql<{ name: string }[]>`
      select relname as name from pg_class
      where relnamespace = 'carillon'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`;
    const known = [...hot, ...Object.values(others).flat()];
    expect(tables.map(({ name }) => name)).toEqual(known.toSorted());
  });

  test("the shard is a column of every hot table, and of each of its days", async () => {
    await sql`select carillon.attach_days('2031-05-05', '2031-05-05')`;
    const lacking = await sql<{ name: string }[]>`
      select c.oid::regclass::text as name from pg_class c left join pg_inherits i on i.inhrelid = c.oid
      where coalesce(i.inhparent, c.oid)::regclass::text = any(${hot.map((name) => `carillon.${name}`)}::text[])
        and c.relkind in ('r', 'p') and c.relname <> 'shards'
        and not exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'shard' and a.atttypid = 'smallint'::regtype)`;
    expect(lacking).toEqual([]);
    const [day] = await sql`select to_regclass('carillon.jobs_20310505') is not null as there`;
    expect(day).toEqual({ there: true });
  });

  test("every unique index of a hot table names the shard or the schedule, except those that are listed here with a reason", async () => {
    const unique = await sql<{ name: string; columns: string[] }[]>`
      select c.relname as name, array(select a.attname::text from pg_attribute a where a.attrelid = i.indexrelid order by a.attnum) as columns
      from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
      where i.indisunique and t.relnamespace = 'carillon'::regnamespace and not t.relispartition and t.relname = any(${[...hot]}::text[])`;
    const without = unique.filter(
      ({ columns }) => !columns.includes("shard") && !columns.includes("schedule_id"),
    );
    expect(without.map(({ name }) => name).sort()).toEqual(Object.keys(uniqueByItself).sort());
  });

  test("every statement that inserts a row of a hot table sets the shard", async () => {
    const functions = await sql<{ name: string; text: string }[]>`
      select proname as name, prosrc as text from pg_proc where pronamespace = 'carillon'::regnamespace`;
    const inserts = [...functions, ...sources()].flatMap(({ name, text }) =>
      [...text.matchAll(/insert into (?:carillon\.)?(\w+)(?: as \w+)? \(([^)]*)\)/g)].flatMap(
        ([, table = "", columns = ""]) =>
          hot.includes(table) && table !== "shards" ? [{ name, table, columns }] : [],
      ),
    );
    const forgetful = inserts.filter(({ columns }) => !columns.split(/,\s*/).includes("shard"));
    expect(forgetful).toEqual([]);
    const written = new Set(inserts.map(({ table }) => table));
    // `plan` and `plan_far` are named by a variable in one place; each also has other statements.
    expect([...written].sort()).toEqual(hot.filter((name) => name !== "shards").sort());
  });

  test("the shard needs no more space per job: it fits into the padding of the row", async () => {
    await sql.begin(async (tx) => {
      await tx`create temporary table with_shard on commit drop as select * from carillon.jobs limit 0`;
      await tx`create temporary table without_shard on commit drop as select * from carillon.jobs limit 0`;
      await tx`alter table without_shard drop column shard`;
      await tx`
        insert into without_shard (occurrence, schedule_id, due_at, parcel_id, kind, n, version, state, attempt)
        select carillon.clock(), i, carillon.clock(), i, 'cadence', 0, 1, 'waiting', 0 from generate_series(1, 20000) i`;
      await tx`
        insert into with_shard (occurrence, schedule_id, due_at, parcel_id, kind, n, version, state, attempt, shard)
        select carillon.clock(), i, carillon.clock(), i, 'cadence', 0, 1, 'waiting', 0, i % 16 from generate_series(1, 20000) i`;
      const [size] = await tx`
        select pg_relation_size('with_shard') as "with", pg_relation_size('without_shard') as without`;
      expect(size?.["with"]).toBe(size?.["without"]);
    });
  });
});

function sources(): { name: string; text: string }[] {
  const root = fileURLToPath(new URL("../../", import.meta.url));
  return ["lib", "functions"]
    .flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" }).map((file) =>
        path.join(folder, file),
      ),
    )
    .filter((file) => file.endsWith(".ts"))
    .map((file) => ({ name: file, text: readFileSync(path.join(root, file), "utf8") }));
}
