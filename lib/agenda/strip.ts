import { nextAfter } from "../cadence/cadence.ts";
import type { Sql, Tx } from "../db/connect.ts";
import { type Explanation, explained } from "../explain/explain.ts";
import { findSubject, type SubjectRow, versionsAround } from "../explain/facts.ts";
import { factsOfMany } from "../explain/facts-of-many.ts";
import { earlyMs, timetableIn, versionOf } from "../explain/place.ts";
import type { Facts, VersionFact } from "../explain/verdict.ts";
import { runsForward, segmentsWithin } from "../history/version-segments.ts";
import { outcomeOf, type Window } from "./window.ts";

/** An instant of a strip: an occurrence, or a job of another kind. */
export type StripItem = Omit<Explanation, "scheduleId" | "asked" | "nearest">;

export interface Strip {
  scheduleId: string;
  createdAt: Date;
  deleted: { at: Date; by: string } | null;
  items: StripItem[];
  /** The instant from which the strip continues. */
  next?: number;
}

export interface StripSearch {
  key: string;
  window: Window;
  limit: number;
}

/** How many versions within a page are read; with more of them the page ends at the last one. */
const versionsMax = 300;

/**
 * The occurrences of one schedule in a window, oldest first, each with its explanation; also of a
 * deleted schedule. Jobs of other kinds are listed at their own instants. The facts are read in one
 * snapshot, with as many statements for a page as for one explanation.
 */
export async function readStrip(sql: Sql, { key, window, limit }: StripSearch): Promise<Strip> {
  const { from } = window;
  const read = await sql.begin(async (tx) => {
    const subject = await findSubject(tx, key, new Date(window.to - 1));
    const end = Math.min(window.to, subject.deletedAt === null ? window.to : subject.deletedAt.getTime() + 1);
    const found = await instantsOf(tx, subject, { from, to: end }, limit + 1);
    const versions = await versionsAround(tx, subject.id, new Date(from), { more: versionsMax });
    const isCut = versions.filter(({ at }) => at >= from).length >= versionsMax;
    const known = isCut ? (versions.at(-1)?.at ?? end) : end;
    const instants = found.filter((at) => at < known);
    const page = instants.slice(0, limit);
    const behind = instants[limit] ?? (isCut ? known : undefined);
    const items = (await factsOfMany(tx, { key, subject, versions }, page)).map(itemOf);
    const last = items.at(-1);
    const next =
      behind !== undefined && last?.outcome === "after-end"
        ? await behindEnd(tx, { key, subject, versions }, { from: last.at.getTime(), to: end })
        : behind;
    return { subject, items, next, deleted: await deletionOf(tx, subject) };
  }, "isolation level repeatable read");
  const { subject, items, deleted, next } = read;
  return {
    scheduleId: subject.id,
    createdAt: subject.createdAt,
    deleted,
    items: items.filter(({ outcome }) => outcome !== "after-end" && outcome !== "before-start"),
    ...(next === undefined ? {} : { next }),
  };
}

/**
 * Where a strip continues behind the last run that `maxFires` allows: at the next version, which may
 * allow more, or at the next job of another kind. Undefined if there is neither.
 */
async function behindEnd(
  tx: Tx,
  { key, subject, versions }: { key: string; subject: SubjectRow; versions: readonly VersionFact[] },
  { from: last, to }: Window,
): Promise<number | undefined> {
  const [beside] = await tx<{ occurrence: Date }[]>`
    select occurrence from carillon.jobs_beside
    where schedule_id = ${subject.id} and occurrence > ${new Date(last)} and occurrence < ${new Date(to)}
    order by occurrence limit 1`;
  const ended = versionOf(versions, last);
  const version = versions.find(({ at }) => at >= last && at < to);
  const found = beside === undefined ? [] : [beside.occurrence.getTime()];
  if (version !== undefined && ended !== undefined) {
    // The next version has those occurrences too that were not due yet when it began.
    const { lagMs, slotMs } = timetableIn(key, ended);
    found.push(Math.max(last + 1, version.at - earlyMs - lagMs - (slotMs ?? 0)));
  }
  return found.length === 0 ? undefined : Math.min(...found);
}

/** A job that was fired by hand has the outcome of its state here, as in the agenda. */
function itemOf(facts: Facts): StripItem {
  const { nearest: _, ...item } = explained(facts);
  const [fired] = item.beside;
  if (item.outcome !== "fired" || fired === undefined) return item;
  return { ...item, outcome: outcomeOf(fired, { now: facts.now, held: facts }) };
}

/** The first instants of a stretch: those of the versions' cadences, and those of other jobs. */
async function instantsOf(tx: Tx, { id }: SubjectRow, { from, to }: Window, most: number): Promise<number[]> {
  if (from >= to) return [];
  const { segments, upTo } = await segmentsWithin(tx, id, { from, to: to - 1 });
  const instants = new Set<number>();
  for (const at of runsForward(segments, from, upTo, nextAfter)) {
    instants.add(at);
    if (instants.size === most) break;
  }
  const beside = await tx<{ occurrence: Date }[]>`
    select distinct occurrence from (
      select occurrence from carillon.jobs_beside
      where schedule_id = ${id} and occurrence >= ${new Date(from)} and occurrence < ${new Date(to)}
      order by occurrence limit ${10 * most}) b
    order by occurrence limit ${most}`;
  for (const { occurrence } of beside) instants.add(occurrence.getTime());
  return [...instants].sort((a, b) => a - b).slice(0, most);
}

async function deletionOf(tx: Tx, { id, deletedAt }: SubjectRow): Promise<Strip["deleted"]> {
  if (deletedAt === null) return null;
  const [row] = await tx<{ by: string }[]>`
    select changed_by as by from carillon.schedule_versions
    where schedule_id = ${id} and change = 'deleted' order by version desc limit 1`;
  return { at: deletedAt, by: row?.by ?? "unknown" };
}
