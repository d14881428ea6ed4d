import type { Tx } from "../db/connect.ts";
import { readStored } from "../history/read-schedule.ts";
import { findSchedulesById } from "../schedule/stored/stored-schedule.ts";
import { type CountedKeys, sampleKeys, sampleSchedules } from "./sampled-schedules.ts";

/** Live schedules that have ended and are still kept. */
export interface Ended {
  count: number;
  /** The count is this close to the true number in 19 of 20 cases; 0 if it is exact. */
  within: number;
}

/** Up to this many schedules each is looked up; of more, a sample of this size is. */
const sampledMax = 1_000;

/** Schedules that only a full reading can judge: at most this many of the sample are read. */
const readMax = 200;

/**
 * Whether a schedule has ended is not stored: it follows from its cadence, its jobs and its holds.
 * A statement decides it for schedules that run once; the others are read as a request for them
 * would read them. A held schedule counts as paused, not as ended.
 */
export async function countEnded(tx: Tx, keys?: CountedKeys): Promise<Ended> {
  const { ids, weight } =
    keys === undefined ? await sampleSchedules(tx, sampledMax) : await sampleKeys(tx, keys, sampledMax);
  if (ids.length === 0) return { count: 0, within: 0 };
  const { over, unsure } = await lookAt(tx, ids);
  const read = await findSchedulesById(tx, unsure.slice(0, readMax));
  const states = await readStored(tx, read);
  const ended = states.filter(({ state }) => state === "ended").length;
  const judged = ended * (unsure.length / Math.max(1, read.length));
  const share = (over + judged) / ids.length;
  const isExact = weight === 1 && unsure.length <= readMax;
  return {
    count: Math.round((over + judged) * weight),
    within: isExact ? 0 : Math.ceil(deviation(share, ids.length) * ids.length * weight),
  };
}

/** Two standard deviations of a share; at the ends, where none was seen, three in the sample. */
function deviation(share: number, sample: number): number {
  return Math.max(3 / sample, 2 * Math.sqrt((share * (1 - share)) / sample));
}

/**
 * `over`: schedules that ran once, and whose job is settled. `unsure`: schedules that have a last
 * occurrence and are not as simple.
 */
async function lookAt(tx: Tx, ids: readonly string[]): Promise<{ over: number; unsure: string[] }> {
  const rows = await tx<{ id: string; over: boolean }[]>`
    with now as materialized (select carillon.clock() as at),
    looked as materialized (
      select s.id, v.once_at,
        v.once_at is not null and v.once_at > '0100-01-01Z' and not v.moved and h.watermark_at >= now.at and s.max_fires is null
          and (s.target_kind <> 'handler' or not exists (select from carillon.jobs_beside b where b.schedule_id = s.id)) as simple,
        v.ends_at, s.max_fires, c.calendar_version, c.expression
      from unnest(${[...ids]}::bigint[]) i (id)
      cross join now
      cross join lateral (
        select s.id, s.shard, s.spec_version, s.max_fires, s.target_kind from carillon.schedules s
        where s.id = i.id and s.held_since is null and coalesce(s.deleted_at, 'infinity') = 'infinity' offset 0) s
      join carillon.shards h on h.id = s.shard
      cross join lateral (
        select v.once_at, v.ends_at, v.cadence_id, v.body ?| array['spread', 'slot'] as moved from carillon.schedule_versions v
        where v.schedule_id = s.id and v.version = s.spec_version offset 0) v
      left join carillon.cadences c on c.id = v.cadence_id
      where v.once_at <= now.at or (v.once_at is null and (v.ends_at is not null or s.max_fires is not null
        or c.calendar_version is not null or c.expression ~ '(^|[|] )at '))
    )
    select l.id, l.simple as over from looked l
    where not l.simple or not (
      exists (
        select from carillon.jobs j
        where j.occurrence = l.once_at and j.schedule_id = l.id and j.kind = 'cadence' and j.n = 0
          and coalesce(j.state, 'waiting') = 'waiting' offset 0)
      or exists (select from carillon.backlog b where b.schedule_id = l.id offset 0)
      or exists (select from carillon.quarantine q where q.consumer = 'plan' and q.item = l.id::text offset 0))`;
  const unsure = rows.flatMap(({ id, over }) => (over ? [] : [id]));
  return { over: rows.length - unsure.length, unsure };
}
