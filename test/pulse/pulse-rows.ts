import type { Sql } from "../../lib/db/connect.ts";
import { nextOccurrences } from "../../lib/history/next-occurrences.ts";
import { jobId } from "../../lib/job/job-id.ts";
import type { Carillon } from "../support/carillon.ts";
import { monday } from "../support/instants.ts";

/** The schedule and the caller of nearly every test of pulses. */
export const pulse = { when: "every 10s", delivery: "pulse", target: { queue: "demo" } };
export const caller = { name: "ann" };
/** Limits with which a walk through a label's members ends in one pass. */
export const unbounded = { most: 1_000_000, timeIsUp: () => false };

/** Restores the initial state, which saves a database for each test. */
export async function emptied({ sql, clock, queue }: Carillon): Promise<void> {
  await clock.setNow(monday);
  await sql`
    truncate carillon.schedules, carillon.schedule_versions, carillon.pulses, carillon.holds, carillon.shared_holds, carillon.plan,
      carillon.plan_far, carillon.jobs, carillon.jobs_beside, carillon.parcels, carillon.passed_over restart identity`;
  await sql`
    update carillon.shards set watermark_at = carillon.clock(), watermark_schedule = 9223372036854775807, reached_at = carillon.clock(),
      pulsed_to = carillon.clock()`;
  queue.messages = [];
}

/** The columns that a beat reads, and the key and id of the schedule. */
export interface PulseRow {
  key: string;
  id: string;
  shard: number;
  startsS: number | null;
  endsS: number | null;
  everyS: number;
  offsetS: number;
  lagS: number;
  rest: string;
}

export function pulseRows(sql: Sql): Promise<PulseRow[]> {
  return sql<PulseRow[]>`
    select s.key, s.id, p.shard, p.starts_s::float8 as "startsS", p.ends_s::float8 as "endsS", p.every_s as "everyS",
      p.offset_s as "offsetS", p.lag_s as "lagS", p.rest
    from carillon.pulses p join carillon.schedules s on s.id = p.schedule_id order by s.key`;
}

export async function pulseRow(sql: Sql, key: string): Promise<PulseRow> {
  const found = (await pulseRows(sql)).find((row) => row.key === key);
  if (found === undefined) throw new Error(`${key} has no row in carillon.pulses.`);
  return found;
}

/**
 * The first seconds at which a row beats after an instant, each with the id that a beat computes.
 */
export function beatsOf(row: PulseRow, after: Date, n: number): { due: number; id: string }[] {
  if (row.startsS === null) return [];
  const beats: { due: number; id: string }[] = [];
  const first = Math.max(row.startsS, Math.floor(after.getTime() / 1_000) + 1);
  for (let t = first; beats.length < n && t < (row.endsS ?? Number.POSITIVE_INFINITY); t += 1) {
    if (t % row.everyS !== row.offsetS) continue;
    beats.push({ due: t * 1_000, id: `${row.id}-${(t - row.lagS) * 1_000}-c0` });
  }
  return beats;
}

/** The same as `beatsOf`, computed from the schedule. */
export async function upcomingOf(sql: Sql, key: string, n: number): Promise<{ due: number; id: string }[]> {
  const { occurrences } = await sql.begin((tx) => nextOccurrences(tx, { key, n }));
  const [schedule] = await sql<{ id: string }[]>`
    select id from carillon.schedules where key = ${key} and deleted_at is null`;
  const of = { scheduleId: schedule?.id ?? "", kind: "cadence", n: 0 } as const;
  return occurrences
    .filter(({ held }) => !held)
    .map(({ at, due }) => ({ due: due ?? at, id: jobId({ ...of, occurrence: new Date(at) }) }));
}
