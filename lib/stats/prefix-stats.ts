import type { Sql, Tx } from "../db/connect.ts";
import { countDead } from "../history/looked-dead.ts";
import { isHeld, keysBehind } from "../schedule/filter-schedules.ts";
import { countEnded } from "./ended.ts";
import { summarize } from "./lateness.ts";
import { addOutcomes, noOutcomes, type OutcomesByStep } from "./outcomes.ts";
import { ledgerPage } from "./series.ts";
import { floorTo } from "./series-steps.ts";
import type { Amount, Standing } from "./standing.ts";
import { type Counts, hourMinutes, lastMinutes } from "./stats.ts";

/** The part of the statistics that concerns the keys with a prefix. */
export interface PrefixStats {
  now: Date;
  /** With `more`, counting stopped at the limit. */
  schedules: {
    total: number;
    active: number;
    paused: number;
    ended: number;
    endedWithin: number;
    more: boolean;
  };
  jobs: OpenOfPrefix;
  backlog: Amount;
  dead: Amount;
  plannedTo: Date;
  rolledUpAt: Date | null;
  /**
   * By the minute of the occurrence. Each begins as far back as one part of the ledger reaches; null
   * if that is not one minute.
   */
  lastMinutes: LedgerCounts | null;
  lastHour: LedgerCounts | null;
}

/** Pulses have no rows in the ledger. */
export type LedgerCounts = Omit<Counts, "pulses"> & { pulses: null };

/** With `more`, there are open jobs that were not looked at. */
type OpenOfPrefix = Pick<
  Standing,
  "waiting" | "due" | "ahead" | "held" | "running" | "retrying" | "oldestDueAt"
> & {
  more: boolean;
};

const schedulesMost = 100_000;
const openMost = 20_000;
const rowsMost = 10_000;
const minuteMs = 60_000;

/** Every number is counted by reading a bounded number of rows, of all prefixes where it must be. */
export async function readPrefixStats(sql: Sql, prefix: string): Promise<PrefixStats> {
  const [row] = await sql<Pick<PrefixStats, "now" | "plannedTo" | "rolledUpAt">[]>`
    select carillon.clock() as now, (select min(watermark_at) from carillon.shards) as "plannedTo",
      (select rolled_up_at from carillon.schedule_counts) as "rolledUpAt"`;
  if (row === undefined) throw new Error("The database's clock gave no time.");
  const to = floorTo(minuteMs, row.now.getTime()) + minuteMs;
  const from = to - (hourMinutes + 1) * minuteMs;
  const range = { from, to };
  const { steps, rest } = await ledgerPage(
    sql,
    { prefix },
    { whole: { ...range, inside: null }, range, stepMs: minuteMs },
  );
  const known = rest?.to ?? from;
  return {
    ...row,
    schedules: await schedulesOf(sql, prefix),
    jobs: await openOf(sql, prefix, row.now),
    backlog: await backlogOf(sql, prefix),
    dead: await countDead(sql, { prefix }),
    lastMinutes: known < to ? countsOf(steps, Math.max(known, to - (lastMinutes + 1) * minuteMs)) : null,
    lastHour: known < to ? countsOf(steps, known) : null,
  };
}

function countsOf(steps: OutcomesByStep, from: number): LedgerCounts {
  const sum = noOutcomes();
  for (const [at, outcomes] of steps) if (at >= from) addOutcomes(sum, outcomes);
  const { made, succeeded, failed, dead, cancelled, skipped, missed, late } = sum;
  return {
    from: new Date(from),
    fired: made,
    succeeded,
    failed,
    dead,
    cancelled,
    skipped,
    missed,
    lateness: summarize([...late].map(([bucket, jobs]) => ({ bucket, jobs }))),
    pulses: null,
  };
}

async function schedulesOf(tx: Tx, prefix: string): Promise<PrefixStats["schedules"]> {
  const range = keysBehind(undefined, prefix);
  if (range === null) throw new Error("A prefix without a range of keys.");
  const [row] = await tx<{ total: number; paused: number }[]>`
    select count(*)::int as total, count(*) filter (where ${isHeld(tx)})::int as paused
    from (
      select s.held_since, s.held_until from carillon.schedules s
      where s.deleted_at is null and s.key >= ${range.from} and s.key < ${range.to} order by s.key limit ${schedulesMost + 1}::int) s`;
  const { total: looked = 0, paused = 0 } = row ?? {};
  const total = Math.min(looked, schedulesMost);
  const { count: ended, within } = await countEnded(tx, { ...range, counted: total });
  return {
    total,
    active: Math.max(0, total - paused - ended),
    paused,
    ended,
    endedWithin: within,
    more: looked > schedulesMost,
  };
}

/** SQL: which of the ids in `rows` are those of keys with the prefix; each is looked up by its id. */
const under = (tx: Tx, prefix: string) => tx`
  cross join lateral (select s.key from carillon.schedules s where s.id = r.schedule_id offset 0) s
  where s.key >= ${prefix} and s.key < ${keysBehind(undefined, prefix)?.to ?? prefix}`;

/**
 * The open jobs as of `now`. A parcel that waits for its turn at a target has a place in the queue
 * instead of a time.
 */
async function openOf(tx: Tx, prefix: string, now: Date): Promise<OpenOfPrefix> {
  const [row] = await tx<OpenOfPrefix[]>`
    with looked as materialized (
      select p.id, k.occurrence, k.schedule_id, coalesce(k.kind, 'cadence') as kind, coalesce(k.n, 0) as n,
        p.lease_until is not null as leased, p.held_schedule is not null as held,
        case when p.turn = 'waits' then p.turn_at - coalesce(p.priority, 0) * interval '10 minutes' else p.ready_at end as since
      from carillon.parcels p cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
      limit ${openMost + 1}::int
    ), own as (select r.* from looked r ${under(tx, prefix)}),
    open as (
      select o.leased, o.held, o.since, j.attempt from own o
      cross join lateral (
        select j.attempt from carillon.jobs j
        where j.occurrence = o.occurrence and j.schedule_id = o.schedule_id and j.kind = o.kind and j.n = o.n
          and j.state = 'waiting' and j.parcel_id = o.id offset 0) j
    )
    select count(*) filter (where not leased)::int as waiting, count(*) filter (where not leased and since <= now)::int as due,
      count(*) filter (where not leased and not held and since > now and since < 'infinity' and attempt = 0)::int as ahead,
      count(*) filter (where held)::int as held, count(*) filter (where leased)::int as running,
      count(*) filter (where not leased and attempt > 0)::int as retrying, min(since) filter (where not leased and since <= now) as "oldestDueAt",
      (select count(*) > ${openMost}::int from looked) as more
    from open cross join (select ${now}::timestamptz as now) c`;
  if (row === undefined) throw new Error("An aggregate without a row.");
  return row;
}

async function backlogOf(tx: Tx, prefix: string): Promise<Amount> {
  const [row] = await tx<{ count: number; more: boolean }[]>`
    with looked as materialized (select b.schedule_id, b.owing from carillon.backlog b limit ${rowsMost + 1}::int)
    select coalesce(sum(r.owing), 0)::float8 as count, (select count(*) > ${rowsMost}::int from looked) as more from looked r ${under(tx, prefix)}`;
  return row ?? { count: 0, more: false };
}
