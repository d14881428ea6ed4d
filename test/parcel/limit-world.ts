import { type Claimed, type ClaimedParcel, claimParcel } from "../../lib/parcel/claim.ts";
import { handOver } from "../../lib/parcel/hand-over.ts";
import { type Settlement, settleParcel } from "../../lib/parcel/settle.ts";
import { sweep } from "../../lib/parcel/sweep.ts";
import type { Carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";

export const due = at(minute);
export const lease = 30 * second;

/**
 * Stores this number of schedules with this body and name (`a-000` …), each due once, beyond the
 * watermark.
 */
export async function dueOnce(
  world: Carillon,
  name: string,
  count: number,
  body: object = { target: { handler: name } },
  when = due,
): Promise<void> {
  await world.put(`${name}-000`, { when: `at ${when.toISOString()}`, ...body });
  if (count > 1) await copies(world, name, count);
}

/** Stores copies of the first schedule: a hundred edits would take longer than the tests. */
async function copies({ sql }: Carillon, name: string, count: number): Promise<void> {
  await sql`
    with first as (select * from carillon.schedules where key = ${`${name}-000`}), made as (
      insert into carillon.schedules (key, shard, queue, target_kind, target_id, tags, overlap, deadline_ms, lane, priority, created_at, created_by,
        updated_at, updated_by)
      select ${name} || '-' || lpad(i::text, greatest(3, length(i::text)), '0'), f.shard, f.queue, f.target_kind, f.target_id, f.tags, f.overlap, f.deadline_ms, f.lane, f.priority,
        f.created_at, f.created_by, f.updated_at, f.updated_by
      from first f, generate_series(1, ${count - 1}) i
      returning id
    ), versions as (
      insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, once_at, body, target, payload)
      select m.id, 1, 'created', v.changed_at, v.changed_by, 1, false, v.once_at, v.body, v.target, v.payload
      from made m, first f join carillon.schedule_versions v on v.schedule_id = f.id
    )
    insert into carillon.plan (due_at, occurrence, schedule_id, every_ms, version, cadence_id, governed, shard)
    select p.due_at, p.occurrence, m.id, p.every_ms, 1, p.cadence_id, p.governed, p.shard
    from made m, first f join carillon.plan p on p.schedule_id = f.id`;
}

export interface StoredParcel {
  id: string;
  turn: string | null;
  slots: number | null;
  jobs: number;
  readyAt: Date | null;
  leased: boolean;
  priority: number | null;
  owed: boolean | null;
}

/** All parcels, or those of a target, in the order in which they wait. */
export async function parcels({ sql }: Carillon, target?: string): Promise<StoredParcel[]> {
  return sql<StoredParcel[]>`
    select p.id, p.turn, p.slots, cardinality(p.occurrences) as jobs, nullif(p.ready_at, 'infinity') as "readyAt",
      p.lease_until is not null as leased, p.priority, p.owed
    from carillon.parcels p left join carillon.targets t on t.id = p.target_id
    ${target === undefined ? sql`` : sql`where t.name = ${target}`}
    order by coalesce(p.turn_at, p.ready_at), p.id`;
}

export async function ids(world: Carillon, target?: string): Promise<string[]> {
  return (await parcels(world, target)).map(({ id }) => id);
}

export interface Worker {
  claim(id: string): Promise<Claimed>;
  claimed(id: string): Promise<ClaimedParcel>;
  settle(parcel: ClaimedParcel, settlement?: Settlement): Promise<string[]>;
}

/** Claims and settles parcels by hand, with this window. */
export function workerOf({ sql }: Pick<Carillon, "sql">, window: number | null = null): Worker {
  const claim = (id: string) => claimParcel(sql, id, lease, window);
  return {
    claim,
    claimed: async (id) => {
      let parcel = await claim(id);
      // A parcel that gets its turn by this very claim is claimed again, as every worker does.
      if ("insteadId" in parcel && parcel.insteadId === id) parcel = await claim(id);
      if (parcel.outcome !== "claimed") throw new Error(`The parcel is ${parcel.outcome}.`);
      return parcel;
    },
    settle: async (parcel, settlement = { kind: "succeeded" }) => {
      const { outgoing } = await settleParcel(
        sql,
        parcel,
        parcel.jobs.map(() => settlement),
      );
      return outgoing.map(({ id }) => id);
    },
  };
}

/** Sweeps as a tick does; returns the parcels that are sent. */
export async function swept({ sql, log, queue }: Carillon): Promise<string[]> {
  const { outgoing } = await sweep(sql, log);
  await handOver(sql, queue, outgoing);
  return outgoing.map(({ id }) => id);
}

export const attemptsOf = ({ sql }: Carillon) =>
  sql<{ attempt: number }[]>`select distinct attempt from carillon.jobs order by attempt`;

/**
 * Makes this number of parcels of ten jobs wait at one target, each in a shard of its own, and
 * claims the first. Jobs there take `costMs`.
 */
export async function claimedBeforeOthers(
  world: Carillon,
  count: number,
  { costMs = 1, share = 1 } = {},
): Promise<ClaimedParcel> {
  await dueOnce(world, "a", count * 10);
  await world.sql`update carillon.schedules set shard = substring(key from 3)::int / 10`;
  await world.sql`update carillon.plan p set shard = s.shard from carillon.schedules s where s.id = p.schedule_id`;
  await world.tick();
  await world.clock.setNow(due);
  await world.sql`
    update carillon.parcels set turn = 'waits', turn_at = ${due}::timestamptz + shard * interval '1 ms' - interval '1 s', ready_at = 'infinity',
      offer_at = 'infinity'`;
  await world.sql`update carillon.targets set share = ${share}, cost_ms = ${costMs}`;
  const [first = ""] = await swept(world);
  return workerOf(world, share).claimed(first);
}

/** Settles every job as succeeded. */
export async function settleAlone({ sql }: Carillon, parcel: ClaimedParcel): Promise<string[]> {
  return workerOf({ sql }).settle(parcel);
}

/**
 * Makes this number of ready parcels of ten jobs, of one shard and of one handler with this share.
 */
export async function readyParcels(world: Carillon, share: number, count: number): Promise<string[]> {
  await dueOnce(world, "a", count * 10);
  await world.sql`update carillon.schedules set shard = 0`;
  await world.sql`update carillon.plan set shard = 0`;
  await world.tick();
  await world.clock.setNow(due);
  await world.sql`
    update carillon.parcels set turn = null, turn_at = null, ready_at = ${due}, offer_at = ${due} where turn = 'waits'`;
  await world.sql`update carillon.targets set share = ${share}`;
  return ids(world, "handler/a");
}
