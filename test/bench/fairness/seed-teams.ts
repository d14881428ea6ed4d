import type { Sql } from "../../../lib/db/connect.ts";
import { shardCount } from "../../../lib/plan/shard.ts";
import { benchHandler, benchSink, type Destination } from "../drain-fill.ts";

/** The keys of a team begin with this. Without fairness its schedules have no team. */
export function prefixOf(destination: Destination, name: "a" | "b", fair: boolean): string {
  return `${fair ? "fair" : "plain"}-${destination}-${name}:`;
}

/** Daily schedules of one target, with and without their team. */
export async function seedTeams(
  sql: Sql,
  destination: Destination,
  counts: Readonly<Record<"a" | "b", number>>,
): Promise<void> {
  for (const name of ["a", "b"] as const)
    for (const fair of [true, false])
      await seedTeam(sql, destination, prefixOf(destination, name, fair), counts[name], fair);
  // As if workers had noted it before: parcels of an unknown handler have ten jobs.
  await sql`update carillon.targets set cost_ms = 1 where name = ${`handler/${benchHandler}`}`;
  await sql`vacuum (analyze) carillon.schedules`;
  await sql`vacuum (analyze) carillon.schedule_versions`;
}

async function seedTeam(
  sql: Sql,
  destination: Destination,
  prefix: string,
  count: number,
  fair: boolean,
): Promise<void> {
  const slow = destination === "handler";
  const target = slow ? { handler: benchHandler } : { queue: benchSink };
  const targetName = slow ? `handler/${benchHandler}` : `queue/${benchSink}`;
  if (fair) await sql`select carillon.keep_team(${prefix})`;
  const [{ have } = { have: 0 }] = await sql<{ have: number }[]>`
    select count(*)::int as have from carillon.schedules where starts_with(key, ${prefix})`;
  await sql`
    with made as (
      insert into carillon.schedules (shard, queue, key, target_kind, target_id, team_id, created_at, created_by, updated_at, updated_by)
      select i % ${shardCount}::int, ${slow ? "slow" : "fast"}, ${prefix} || i, ${destination}, carillon.target_named(${targetName}),
        (select id from carillon.teams where prefix = ${prefix}), carillon.clock(), 'bench', carillon.clock(), 'bench'
      from generate_series(${have + 1}::int, ${count}::int) i
      returning id
    )
    insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, first_at, every_ms, body, target, payload)
    select id, 1, 'created', carillon.clock(), 'bench', 1, false, carillon.clock(), 86400000, '{"when":"every 1d"}',
      ${JSON.stringify(target)}::text::jsonb, jsonb_build_object('n', id)
    from made`;
}
