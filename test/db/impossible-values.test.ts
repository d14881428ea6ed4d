import { afterEach, beforeEach, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { migrate } from "../../lib/db/migrate/migrate.ts";
import { migrationsDirectory, readMigrations } from "../../lib/db/migrate/migration.ts";
import { violatedConstraint } from "../../lib/db/sql-state.ts";
import { silentLog } from "../../lib/log/log.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

/** Values that no part of Carillon writes, each in a row that is sound otherwise. */

let database: TestDatabase;
let sql: Sql;

beforeEach(async () => {
  database = await testDatabase("empty");
  sql = connect({ DATABASE_URL: database.url }, { max: 1 });
});

afterEach(async () => {
  await sql.end();
  await database.drop();
});

const rows = `
  insert into carillon.parcels (shard, queue, ready_at, offer_at, claimed_at, lease_until, occurrences, schedule_ids)
  values (0, 'fast', now(), now(), now(), now(), '{}', '{}');
  insert into carillon.targets (name, busy_until, next_at, spread_to, cost_ms) values ('queue/a', now(), now(), now(), 1);
  insert into carillon.minutes (minute) values (now());
  insert into carillon.minute_lateness (minute, bucket, jobs) values (now(), 1, 1);
  insert into carillon.minute_pulse_lateness (minute, bucket, pulses) values (now(), 1, 1);
  insert into carillon.failure_runs (schedule_id, failures) values (1, 1);
  insert into carillon.shared_holds (scope, name, owner, since, author) values ('group', 'g', 'ann', now(), 'ann');
  insert into carillon.archived_days (day) values (now());
  insert into carillon.tokens (id, hash, name, scope, created_at, created_by)
  values ('00000000-0000-0000-0000-000000000001', '', 't', 'read', now(), 'ann');
  insert into carillon.rate_buckets (id, at, used) values ('token 1', now(), 1)`;

const impossible: [table: string, column: string, value: string, constraint: string][] = [
  ...["infinity", "-infinity"].flatMap((value): typeof impossible => [
    ["parcels", "lease_until", value, "parcels_lease_ends"],
    ["targets", "busy_until", value, "targets_starts_are_instants"],
    ["targets", "next_at", value, "targets_starts_are_instants"],
    ["targets", "spread_to", value, "targets_starts_are_instants"],
    ["shards", "pulsed_to", value, "shards_lines_are_instants"],
    ["shards", "watermark_at", value, "shards_lines_are_instants"],
    ["shards", "reached_at", value, "shards_lines_are_instants"],
    ["shards", "near_until", value, "shards_lines_are_instants"],
  ]),
  ["targets", "slipped_ms", "-1", "targets_starts_are_instants"],
  ["targets", "cost_ms", "-1", "targets_cost_is_a_time"],
  ["targets", "cost_ms", "infinity", "targets_cost_is_a_time"],
  ["targets", "cost_ms", "nan", "targets_cost_is_a_time"],
  ...["succeeded", "failed", "dead", "cancelled", "missed", "pulses", "pulses_lost"].map(
    (column): (typeof impossible)[number] => ["minutes", column, "-1", "minutes_count_up"],
  ),
  ["minute_lateness", "jobs", "-1", "minute_lateness_counts_up"],
  ["minute_pulse_lateness", "pulses", "-1", "minute_pulse_lateness_counts_up"],
  ["failure_runs", "failures", "-1", "failure_runs_count_up"],
  ["shared_holds", "members", "-1", "shared_holds_members_count_up"],
  ...["fence", "parts", "jobs", "attempts", "parts_max"].map((column): (typeof impossible)[number] => [
    "archived_days",
    column,
    "-1",
    "archived_days_count_up",
  ]),
  ["rate_buckets", "used", "-1", "rate_buckets_used"],
  ["rate_buckets", "used", "nan", "rate_buckets_used"],
  ["tokens", "rates_above", "[]", "tokens_rates_above"],
];

const write = (table: string, column: string, value: string) =>
  sql.unsafe(`update carillon.${table} set ${column} = '${value}'`);

test("a value that Carillon never writes, and on which a part of it would fail, is refused by the table", async () => {
  await migrate(sql, await readMigrations(migrationsDirectory), silentLog);
  await sql.unsafe(rows);
  const refused = [];
  for (const [table, column, value] of impossible)
    refused.push([
      table,
      column,
      value,
      await write(table, column, value).then(() => "accepted", violatedConstraint),
    ]);
  expect(refused).toEqual(impossible);
});
