import { nextRunAfter } from "../cadence/cadence.ts";
import type { Cadence } from "../cadence/cadence-kinds.ts";
import type { Tx } from "../db/connect.ts";
import { keptPlan } from "../db/statement.ts";
import { type CadenceColumns, cadenceColumns, cadenceOf } from "../schedule/stored/cadence-columns.ts";

/** The time in which a version counted: occurrences in `(from, to]` are those of its cadence. */
export interface Segment {
  from: number;
  to: number;
  cadence: Cadence;
  held: boolean;
  /** Largest number of missed occurrences that run when a hold ends. */
  caughtUpMax: number;
  /** The version has a `maxFires`: its runs may end within the segment. */
  isLimited: boolean;
}

const versionsMax = 1_000;

/** An `at` may lie this long before the version that names it. */
const earlyMs = 61_000;

/** Near the end of the year 9999; a later instant is no bound. */
const lastInstant = 253_402_300_000_000;

export interface VersionRow extends CadenceColumns {
  held: boolean;
  heldUntil: Date | null;
  changedAt: Date;
  reachedAt: Date;
  catchUp: { policy: string; limit: number } | null;
  isLimited: boolean;
}

/** The versions of a schedule (own), each with its spec (v). */
const versionRows = (tx: Tx, scheduleId: string) => tx`
  select ${versionColumns(tx)}
  from carillon.schedule_versions own ${withSpecs(tx)}
  where own.schedule_id = ${scheduleId}`;

export const versionColumns = (tx: Tx) => tx`
  own.held, own.held_until as "heldUntil", own.changed_at as "changedAt", greatest(h.reached_at, h.watermark_at) as "reachedAt",
    v.body -> 'catchUp' as "catchUp", v.body ->> 'maxFires' is not null as "isLimited", ${cadenceColumns(tx)}`;

export const withSpecs = (tx: Tx) => tx`
  join carillon.schedules s on s.id = own.schedule_id
  join carillon.shards h on h.id = s.shard
  join carillon.schedule_versions v on v.schedule_id = own.schedule_id and v.version = own.spec_version
  left join carillon.cadences c on c.id = v.cadence_id
  left join carillon.calendar_versions r on r.id = c.calendar_version`;

/**
 * The segments before an instant, newest first. `from` is set if there are more versions than one
 * read allows: the segments then begin there.
 */
export async function segmentsBefore(
  tx: Tx,
  scheduleId: string,
  before: number,
): Promise<{ segments: Segment[]; from: number | null }> {
  const rows = await keptPlan(tx<VersionRow[]>`
    ${versionRows(tx, scheduleId)}
      ${before < lastInstant ? tx`and own.changed_at < ${new Date(Math.max(0, before) + earlyMs)}` : tx``}
    order by own.version desc limit ${versionsMax}`);
  const oldest = rows.length < versionsMax ? undefined : rows.at(-1);
  return { segments: segmentsOf(rows), from: oldest === undefined ? null : oldest.changedAt.getTime() + 1 };
}

/** The segments of versions, newest first. */
function segmentsOf(rows: readonly VersionRow[]): Segment[] {
  return rows.flatMap((row, index) => {
    const to = rows[index - 1]?.changedAt ?? row.reachedAt;
    // A resume catches up by the policy of the version that begins with it.
    const limits = [row.catchUp, rows[index - 1]?.catchUp].map((each) =>
      each?.policy === "all" ? each.limit : 1,
    );
    const { changedAt, isLimited } = row;
    const segment = { from: changedAt.getTime(), to: to.getTime(), cadence: cadenceOf(row), isLimited };
    return withHold(segment, row, Math.max(...limits));
  });
}

/**
 * The segments in a range of time, oldest first, and the instant up to which they are complete:
 * there may be more versions than one read allows.
 */
export async function segmentsWithin(
  tx: Tx,
  scheduleId: string,
  { from, to }: { from: number; to: number },
): Promise<{ segments: Segment[]; upTo: number }> {
  const rows = await tx<VersionRow[]>`
    ${versionRows(tx, scheduleId)} and own.changed_at <= ${new Date(to + earlyMs)}
      and own.version >= coalesce((select max(version) from carillon.schedule_versions
        where schedule_id = ${scheduleId} and changed_at < ${new Date(from)}), 1)
    order by own.version limit ${versionsMax + 1}`;
  const beyond = rows.length > versionsMax ? rows.at(-1)?.changedAt.getTime() : undefined;
  const segments = rows.slice(0, versionsMax).map((row, index) => ({
    from: row.changedAt.getTime(),
    to: rows[index + 1]?.changedAt.getTime() ?? to,
    cadence: cadenceOf(row),
    held: row.held,
    caughtUpMax: 1,
    isLimited: row.isLimited,
  }));
  return { segments, upTo: Math.min(to, beyond ?? to) };
}

/**
 * Splits a segment at the end of a hold that ends by itself, because no new version begins there.
 * Newest first.
 */
export function withHold(
  segment: Omit<Segment, "held" | "caughtUpMax">,
  { held, heldUntil }: Pick<VersionRow, "held" | "heldUntil">,
  caughtUpMax: number,
): Segment[] {
  const until = heldUntil?.getTime() ?? segment.to;
  if (!held || until >= segment.to) return [{ ...segment, held, caughtUpMax }];
  return [
    { ...segment, from: Math.max(segment.from, until), held: false, caughtUpMax },
    { ...segment, to: until, held: true, caughtUpMax },
  ].filter(({ from, to }) => from < to);
}

/**
 * Instants of `at` cadences that lie a little before the version that names them, among the
 * occurrences of the previous version; oldest first.
 */
export function earlyRuns(segments: readonly Pick<Segment, "from" | "cadence">[]): number[] {
  const instants = segments.flatMap(({ from, cadence }) => {
    const at = onceAt(cadence);
    return at !== null && at <= from && at > from - earlyMs ? [at] : [];
  });
  return [...new Set(instants)].sort((a, b) => a - b);
}

function onceAt(cadence: Cadence): number | null {
  if (cadence.kind === "window") return onceAt(cadence.of);
  return cadence.kind === "once" ? cadence.at : null;
}

/**
 * The occurrences in `[from, upTo]` that run, oldest first; with `nextAfter`, also those that a
 * calendar skips. Segments are in the same order.
 */
export function* runsForward(
  segments: readonly Segment[],
  from: number,
  upTo: number,
  next: typeof nextRunAfter = nextRunAfter,
): Generator<number> {
  const early = earlyRuns(segments).filter((at) => at >= from && at <= upTo);
  let last = Number.NEGATIVE_INFINITY;
  for (const segment of segments) {
    const bound = Math.min(segment.to, upTo);
    let at = next(segment.cadence, Math.max(segment.from, from - 1));
    for (; at !== null && at <= bound; at = next(segment.cadence, at)) {
      for (; early[0] !== undefined && early[0] <= at; early.shift()) {
        if (early[0] > last && early[0] < at) yield early[0];
      }
      last = at;
      yield at;
    }
  }
  yield* early.filter((at) => at > last);
}
