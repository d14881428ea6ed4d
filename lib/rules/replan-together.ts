import { changeTogether } from "../batch/change-together.ts";
import type { DecidedEdit } from "../batch/divide-edits.ts";
import { unreadableReason } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import { afterEndedHold, applyEdit } from "../edit/apply-edit.ts";
import { lockForChange } from "../edit/lock-for-change.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { makeAtOnce } from "../plan/maker.ts";
import { passedEvents } from "../plan/passed-events.ts";
import { readShard, type ShardState } from "../plan/shard.ts";
import { FewerFit } from "../quarantine/in-halves.ts";
import { holdsAfter, holdsOf } from "../schedule/holds.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import { cadenceIds } from "../schedule/stored/cadence-columns.ts";
import { lockSchedules, type StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import type { Spec } from "../schedule/stored/version-rows.ts";
import { type RulesInForce, rulesInForce } from "./calendar-replans.ts";
import { exchangeRules } from "./exchange-rules.ts";

/** Schedules of one shard that refer to one calendar. */
export interface ToReplan {
  calendarId: number;
  shard: number;
  ids: readonly string[];
  author: Caller;
  /** Whether each lock is waited for only briefly. */
  briefly: boolean;
  /** Called when the locks are held that every schedule of the shard needs. */
  noteLocked: () => void;
}

interface Replan {
  current: StoredSchedule;
  spec: Spec;
  lost: readonly number[];
}

export interface ReplannedTogether {
  replanned: number;
  parcels: OutgoingParcel[];
}

/**
 * Plans schedules of one shard by the rules in force of their calendar, in one transaction. Those
 * that follow the rules already stay as they are.
 */
export async function replanTogether(
  tx: Tx,
  { calendarId, shard, ids, author, briefly, noteLocked }: ToReplan,
): Promise<ReplannedTogether> {
  const [, found, state] = await Promise.all([
    lockForChange(tx, { shards: [shard], briefly, noteLocked, waitingForRows: ids.length }),
    lockSchedules(tx, ids),
    readShard(tx, shard),
  ]);
  const isInLane = found.some(passesLanes);
  if (isInLane && found.length > 1) throw new FewerFit("A schedule that passes lanes is replanned alone.", 1);
  const rules = await rulesInForce(tx, calendarId);
  const replans = await decideEach(tx, found, state, rules);
  const holds = await holdsOf(
    tx,
    replans.map(({ current }) => current.id),
  );
  // Before the edits: a cadence that is inserted later can close a deadlock with another batch.
  await cadenceIds(
    tx,
    replans.map(({ spec }) => spec),
  );
  const detail = { calendar: rules.name, version: rules.version };
  for (const { current, lost } of replans) if (lost.length > 0) await noteLost(tx, current, lost, state.now);
  const edits = replans.map(({ current, spec }): DecidedEdit => {
    const after = holdsAfter(holds.get(current.id) ?? [], {}, state.now);
    return { current, state, edit: { change: "replanned", spec, detail }, holdsAfter: after, caller: author };
  });
  // A transaction locks lanes in their order, and only the edit of a single schedule locks its own.
  const { parcels, others } = isInLane
    ? { parcels: [], others: edits }
    : await changeTogether(tx, edits, makeAtOnce);
  for (const { current, edit, holdsAfter: after } of others)
    parcels.push(...(await applyEdit(tx, { current, state }, edit, after, author)));
  return { replanned: replans.length, parcels };
}

const passesLanes = ({ lane, body }: StoredSchedule) =>
  lane !== null || body.overlap !== "allow" || body.group !== null;

/**
 * Applies the current rules to the stored cadences: an interval keeps its phase, and `in 3h` its
 * instant.
 */
async function decideEach(
  tx: Tx,
  found: readonly StoredSchedule[],
  state: ShardState,
  { id, versionId, rules }: RulesInForce,
): Promise<Replan[]> {
  const older = found.filter((schedule) => followsOlder(schedule, { id, versionId }));
  const changedAt = await specsSince(tx, older);
  const replans: Replan[] = [];
  for (const schedule of older) {
    const current = await afterEndedHold(tx, schedule, state);
    const { startsAt } = current.body;
    const { cadence, lost } = exchangeRules(current.cadence, rules, {
      cut: state.now.getTime(),
      since: current.createdAt.getTime(),
      inForce: (changedAt.get(current.id) ?? current.createdAt).getTime(),
      startsAt: startsAt === null ? null : Date.parse(startsAt),
    });
    replans.push({
      current,
      lost,
      spec: { body: current.body, cadence, calendar: { id, versionId, rules } },
    });
  }
  return replans;
}

/** Fails for a schedule that cannot be read: the rules by which it is planned are unknown. */
function followsOlder(
  { cadence, cadenceId, calendar }: StoredSchedule,
  { id, versionId }: { id: number; versionId: number },
): boolean {
  if (cadenceId === null) return false;
  const reason = unreadableReason(cadence);
  if (reason !== null) throw new Error(reason);
  // An edit may have given it another calendar meanwhile, with the rules of that one.
  return calendar !== null && calendar.id === id && calendar.versionId !== versionId;
}

async function specsSince(tx: Tx, schedules: readonly StoredSchedule[]): Promise<Map<string, Date>> {
  if (schedules.length === 0) return new Map();
  const rows = await tx<{ id: string; changedAt: Date }[]>`
    select v.schedule_id as id, v.changed_at as "changedAt"
    from unnest(${schedules.map(({ id }) => id)}::bigint[], ${schedules.map(({ specVersion }) => specVersion)}::int[]) s (id, version)
    cross join lateral (
      select schedule_id, changed_at from carillon.schedule_versions where schedule_id = s.id and version = s.version offset 0) v`;
  return new Map(rows.map(({ id, changedAt }) => [id, changedAt]));
}

/**
 * Notes lost runs as passed over. A lost run that has a job is left out: it ran before an earlier
 * edit of the calendar.
 */
async function noteLost(
  tx: Tx,
  { id, shard, heldSince }: StoredSchedule,
  lost: readonly number[],
  at: Date,
): Promise<void> {
  await tx`
    with noted as (
      insert into carillon.passed_over (schedule_id, from_at, to_at, count, more, reason, noted_at, shard)
      select ${id}, min(l.at), max(l.at), count(*), false, ${heldSince === null ? "missed" : "paused"}, ${at}, ${shard}::smallint
      from unnest(${tx.array(lost.map((each) => new Date(each)))}::timestamptz[]) l (at)
      where not exists (
        select from carillon.jobs j where j.occurrence = l.at and j.schedule_id = ${id} and j.kind = 'cadence' and j.n = 0)
      having count(*) > 0
      returning schedule_id, reason, from_at, to_at, count, more
    ),
    ${passedEvents(tx, tx`select schedule_id, reason, from_at, to_at, count, more from noted`)}
    select`;
}
