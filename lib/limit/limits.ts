import type { Sql, Tx } from "../db/connect.ts";
import { lockTarget } from "../db/locks.ts";
import { type Rate, rateText } from "../job/rate.ts";
import { handOver } from "../parcel/hand-over.ts";
import type { OutgoingParcel, ParcelQueue } from "../parcel/parcel-queue.ts";
import { Refusal } from "../refusal.ts";
import { type Caller, originText } from "../schedule/shape/caller.ts";

/** Limits of a handler's definition. Null means no limit. */
export interface DefinedLimits {
  concurrency: number | null;
  rate: Rate | null;
}

export interface Limits extends DefinedLimits {
  /** The most jobs of one team at once; at most `concurrency`, which it needs. */
  perTeam?: number | null | undefined;
}

export interface LimitsRead extends DefinedLimits {
  target: string;
  perTeam: number | null;
  /** Rises with every change through the API. */
  revision: number;
  /** The limits of the handler's own definition, in force or not. */
  defined: DefinedLimits;
  /** The author and the time of limits set through the API; null if the definition is in force. */
  set: { at: Date; by: string } | null;
  /** Jobs under way that hold a place. */
  running: number;
  /** Due jobs that wait for a place. */
  waiting: number;
}

interface LimitsRow {
  target: string;
  revision: number;
  concurrency: number | null;
  perTeam: number | null;
  count: number | null;
  perMs: number | null;
  definedConcurrency: number | null;
  definedCount: number | null;
  definedPerMs: number | null;
  setAt: Date | null;
  setBy: string | null;
  running: number;
  waiting: number;
}

export interface LimitsParams {
  target: string;
  caller: Caller;
  /** The change is refused unless the limits have one of these revisions or, with "*", are set. */
  ifMatch?: readonly number[] | "*" | undefined;
}

interface LimitDeps {
  sql: Sql;
  queue: ParcelQueue;
}

/**
 * Sets all limits of a target, which may have no schedule yet. They take effect at once, also for
 * waiting jobs.
 */
export async function setLimits(
  deps: LimitDeps,
  params: LimitsParams & { limits: Limits; ifNoneMatch?: boolean | undefined },
): Promise<LimitsRead> {
  const { concurrency, perTeam = null, rate } = params.limits;
  await change(deps, params, "limits.set", async (tx, id) => {
    await tx`
      update carillon.targets set concurrency = ${concurrency}, per_team = ${perTeam}, rate_count = ${rate?.count ?? null}, rate_ms = ${rate?.perMs ?? null},
        revision = revision + 1, set_at = carillon.clock(), set_by = ${params.caller.name} where id = ${id}`;
  });
  return orMissing(await readLimits(deps.sql, params.target), params.target);
}

/** Returns to the limits of the handler's definition; without one there is no limit. */
export async function clearLimits(deps: LimitDeps, params: LimitsParams): Promise<void> {
  const found = await readLimits(deps.sql, params.target);
  if (found?.set == null) throw missing(params.target);
  await change(deps, params, "limits.cleared", async (tx, id) => {
    await tx`
      update carillon.targets set concurrency = defined_concurrency, per_team = null, rate_count = defined_rate_count, rate_ms = defined_rate_ms,
        revision = revision + 1, set_at = null, set_by = null where id = ${id}`;
  });
}

async function change(
  { sql, queue }: LimitDeps,
  { target, caller, ifMatch, ifNoneMatch }: LimitsParams & { ifNoneMatch?: boolean | undefined },
  action: "limits.set" | "limits.cleared",
  write: (tx: Tx, id: number) => Promise<void>,
): Promise<void> {
  const outgoing = await sql.begin(async (tx) => {
    const [named] = await tx<{ id: number }[]>`select carillon.target_named(${target}) as id`;
    if (named === undefined) throw new Error(`The target ${target} was not found after it was created.`);
    await lockTarget(tx, named.id);
    refuseOther(await standing(tx, named.id), { target, ifMatch, ifNoneMatch });
    const before = await inForce(tx, named.id);
    await write(tx, named.id);
    const detail = { ...(await inForce(tx, named.id)), before };
    await tx`
      insert into carillon.audit (at, actor, action, subject, detail, origin)
      values (carillon.clock(), ${caller.name}, ${action}, ${target}, ${JSON.stringify(detail)}::text::jsonb,
        ${originText(caller)}::text::jsonb)`;
    return tx<OutgoingParcel[]>`
      select id, queue, greatest(0, extract(epoch from ready_at - carillon.clock()) * 1000)::float8 as "waitMs"
      from carillon.renew_turns(${named.id}) order by ready_at, id`;
  });
  await handOver(sql, queue, outgoing);
}

/** The limits in the form of the audit. */
async function inForce(
  tx: Tx,
  id: number,
): Promise<Pick<LimitsRow, "concurrency" | "perTeam"> & { rate: string | null }> {
  const [row] = await tx<Pick<LimitsRow, "concurrency" | "perTeam" | "count" | "perMs">[]>`
    select concurrency, per_team as "perTeam", rate_count as count, rate_ms as "perMs" from carillon.targets where id = ${id}`;
  if (row === undefined) throw new Error(`The target ${id} was not found under its lock.`);
  const { concurrency, perTeam, count, perMs } = row;
  return { concurrency, perTeam, rate: count === null || perMs === null ? null : rateText({ count, perMs }) };
}

interface Standing {
  revision: number;
  isSet: boolean;
}

async function standing(tx: Tx, id: number): Promise<Standing> {
  const [row] = await tx<Standing[]>`
    select revision, set_at is not null as "isSet" from carillon.targets where id = ${id}`;
  if (row === undefined) throw new Error(`The target ${id} was not found.`);
  return row;
}

function refuseOther(
  { revision, isSet }: Standing,
  {
    target,
    ifMatch,
    ifNoneMatch,
  }: Pick<LimitsParams, "target" | "ifMatch"> & { ifNoneMatch?: boolean | undefined },
): void {
  const name = JSON.stringify(target);
  if (ifNoneMatch === true && isSet)
    throw new Refusal("precondition", `The limits of ${name} are set already.`);
  if (ifMatch === "*" && !isSet)
    throw new Refusal("precondition", `The limits of ${name} are not set, so no version can match.`);
  if (ifMatch === undefined || ifMatch === "*" || ifMatch.includes(revision)) return;
  throw new Refusal("precondition", `The limits of ${name} are at version ${revision}.`);
}

/** Null for a target that no schedule and no limit has named. */
export async function readLimits(tx: Tx, target: string): Promise<LimitsRead | null> {
  const [row] = await tx<LimitsRow[]>`${limitRows(tx)} where t.name = ${target}`;
  return row === undefined ? null : limitsOf(row);
}

/** Targets with limits, ordered by name; `after` is the name at which the page before ended. */
export async function listLimits(
  tx: Tx,
  { limit, after }: { limit: number; after?: string | undefined },
): Promise<{ items: LimitsRead[]; next?: string }> {
  const rows = await tx<LimitsRow[]>`
    ${limitRows(tx)}
    where (t.concurrency is not null or t.rate_count is not null or t.set_at is not null) ${after === undefined ? tx`` : tx`and t.name > ${after}`}
    order by t.name limit ${limit + 1}`;
  const items = rows.slice(0, limit).map(limitsOf);
  const last = items.at(-1);
  return { items, ...(rows.length <= limit || last === undefined ? {} : { next: last.target }) };
}

const limitRows = (tx: Tx) => tx`
  select t.name as target, t.revision, t.concurrency, t.per_team as "perTeam", t.rate_count as count, t.rate_ms as "perMs", t.defined_concurrency as "definedConcurrency",
    t.defined_rate_count as "definedCount", t.defined_rate_ms as "definedPerMs", t.set_at as "setAt", t.set_by as "setBy",
    (select coalesce(sum(least(p.slots, p.jobs)), 0)::int from carillon.taken_places p
      where p.target_id = t.id and p.lease_until is not null) as running,
    (select coalesce(sum(cardinality(p.occurrences)), 0)::int from carillon.parcels p
      where p.target_id = t.id and (p.turn = 'waits' and p.turn_at - coalesce(p.priority, 0) * interval '10 minutes' <= carillon.clock()
        or p.slots is not null and p.lease_until is null)) as waiting
  from carillon.targets t`;

function limitsOf(row: LimitsRow): LimitsRead {
  const { target, revision, concurrency, perTeam, setAt, setBy, running, waiting } = row;
  return {
    target,
    revision,
    concurrency,
    perTeam,
    rate: rateOf(row.count, row.perMs),
    defined: { concurrency: row.definedConcurrency, rate: rateOf(row.definedCount, row.definedPerMs) },
    set: setAt === null || setBy === null ? null : { at: setAt, by: setBy },
    running,
    waiting,
  };
}

function rateOf(count: number | null, perMs: number | null): Rate | null {
  return count === null || perMs === null ? null : { count, perMs };
}

function orMissing(read: LimitsRead | null, target: string): LimitsRead {
  if (read === null) throw missing(target);
  return read;
}

function missing(target: string): Refusal {
  return new Refusal("missing", `No limits were set for the target ${JSON.stringify(target)}.`);
}
