import { unreadableReason } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import { isConflict } from "../db/retrying.ts";
import type { EditContext } from "../edit/apply-edit.ts";
import type { EditDeps } from "../edit/edit-transaction.ts";
import { type ReplanDecision, replan } from "../edit/replan.ts";
import { passedEvents } from "../plan/passed-events.ts";
import { blameOnceLocked, OfNoRow } from "../quarantine/in-halves.ts";
import { asideAmong, letGoUnlocked } from "../quarantine/quarantine.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import {
  endReplanRound,
  findReplanPlace,
  moveReplanPlace,
  nextReferring,
  type ReferringSchedule,
  type ReplanPlace,
  rulesInForceFor,
} from "./calendar-replans.ts";
import { exchangeRules } from "./exchange-rules.ts";

export interface ReplanBounds {
  /** Largest number of schedules to replan. */
  most: number;
  timeIsUp: () => boolean;
  /**
   * Called for a schedule that fails. The others go on, and its next attempt is in the next round.
   */
  failed: (scheduleId: string, error: unknown) => Promise<void>;
  /**
   * Shards whose lock was not granted. Their other schedules are skipped until the next round,
   * since each would wait for the lock as long again.
   */
  left: Set<number>;
}

const consumer = "calendar-replan";

/** The number of schedules read in one step; `replan_after` is raised after each step. */
const pageMax = 100;

export interface ReplanDone {
  replanned: number;
  /** No schedule is left except failed ones. */
  done: boolean;
}

/**
 * Replans schedules by the current rules of their calendar, each in a transaction of its own, until
 * none is left or a limit is reached. It may be killed at any point and run twice at once: a
 * schedule that follows the rules is left unchanged.
 */
export async function replanCalendar(
  deps: EditDeps,
  calendarId: number,
  bounds: ReplanBounds,
): Promise<ReplanDone> {
  let replanned = 0;
  while (replanned < bounds.most && !bounds.timeIsUp()) {
    const place = await findReplanPlace(deps.sql, calendarId);
    if (place === null) return { replanned, done: true };
    const page = await nextReferring(deps.sql, place, pageMax);
    if (page.length === 0) {
      await endReplanRound(deps.sql, place);
      return { replanned, done: true };
    }
    replanned += await replanPage(deps, place, page, { ...bounds, most: bounds.most - replanned });
  }
  return { replanned, done: false };
}

async function replanPage(
  deps: EditDeps,
  place: ReplanPlace,
  page: readonly ReferringSchedule[],
  { most, timeIsUp, ...about }: ReplanBounds,
): Promise<number> {
  const older = page.filter((found) => found.older).map(({ id }) => id);
  const aside = older.length === 0 ? new Map() : await asideAmong(deps.sql, consumer, older);
  let tried = 0;
  let replanned = 0;
  let failed = false;
  let after: string | null = null;
  for (const found of page) {
    if (found.older) {
      if (tried === most || timeIsUp()) break;
      tried += 1;
      const done = await replanFound(deps, place, found, { ...about, aside: aside.get(found.id) });
      if (done === "replanned") replanned += 1;
      if (done === "failed") failed = true;
    }
    after = found.id;
  }
  if (after !== null) await moveReplanPlace(deps.sql, place, { after, failed });
  return replanned;
}

async function replanFound(
  deps: EditDeps,
  place: ReplanPlace,
  found: ReferringSchedule,
  { aside, failed, left }: { aside: { waits: boolean } | undefined } & Pick<ReplanBounds, "failed" | "left">,
): Promise<"replanned" | "unchanged" | "failed"> {
  if (aside?.waits === true || left.has(found.shard)) return "failed";
  try {
    const done = await blameOnceLocked((noteLocked) =>
      replan(deps, found, byRulesInForce, { author: { name: place.author }, noteLocked }),
    );
    if (aside !== undefined) await letGoUnlocked(deps.sql, consumer, [found.id]);
    return done === null ? "unchanged" : "replanned";
  } catch (error) {
    if (error instanceof OfNoRow) left.add(found.shard);
    // After a conflict the next round tries again.
    if (!isConflict(error instanceof OfNoRow ? error.cause : error)) await failed(found.id, error);
    return "failed";
  }
}

/**
 * Applies the current rules to the stored cadence: an interval keeps its phase, and `in 3h` its
 * instant.
 */
async function byRulesInForce(tx: Tx, { current, state }: EditContext): Promise<ReplanDecision> {
  if (current.cadenceId === null) return null;
  const reason = unreadableReason(current.cadence);
  if (reason !== null) throw new Error(reason);
  const inForce = await rulesInForceFor(tx, current.cadenceId);
  if (inForce === null || inForce.followed) return null;
  const { id, versionId, rules, name, version } = inForce;
  const { startsAt } = current.body;
  const { cadence, lost } = exchangeRules(current.cadence, rules, {
    cut: state.now.getTime(),
    since: current.createdAt.getTime(),
    inForce: (await specSince(tx, current)).getTime(),
    startsAt: startsAt === null ? null : Date.parse(startsAt),
  });
  if (lost.length > 0) await noteLost(tx, current, lost, state.now);
  return {
    spec: { body: current.body, cadence, calendar: { id, versionId, rules } },
    detail: { calendar: name, version },
  };
}

async function specSince(tx: Tx, { id, specVersion, createdAt }: StoredSchedule): Promise<Date> {
  const [row] = await tx<{ changedAt: Date }[]>`
    select changed_at as "changedAt" from carillon.schedule_versions where schedule_id = ${id} and version = ${specVersion}`;
  return row?.changedAt ?? createdAt;
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
