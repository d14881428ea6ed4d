import { isDeepStrictEqual } from "node:util";

/** One version of a schedule from its history; `when` and `edit` are those of its spec. */
export interface VersionRead {
  scheduleId: string;
  version: number;
  change: "created" | "replaced" | "patched" | "paused" | "resumed" | "deleted";
  changedAt: number;
  changedBy: string;
  /** True when the version has a spec of its own. */
  specified: boolean;
  when: string;
  edit: number;
  overlap: "allow" | "skip" | "queue";
  /** The end of the hold that it sets. */
  until: number | null;
  /** The end of the last of its holds. */
  heldUntil: number | null;
}

/** The time at which each owner's hold ends. */
export type Owners = Map<string, number>;

/**
 * The history with an additional entry for each hold that ended by itself and so resumed its
 * schedule.
 */
export function withEndedHolds(versions: readonly VersionRead[]): VersionRead[] {
  return versions.flatMap((version, index) => {
    const { heldUntil, scheduleId } = version;
    const next = versions[index + 1];
    const edited = next?.scheduleId === scheduleId && heldUntil !== null && next.changedAt < heldUntil;
    if (heldUntil === null || edited) return [version];
    const ended = { change: "resumed", changedBy: "carillon", changedAt: heldUntil } as const;
    return [version, { ...version, ...ended, specified: false, until: null, heldUntil: null }];
  });
}

/** A period in which a schedule had one meaning: after `from` up to and including `to`. */
export interface Segment {
  scheduleId: string;
  from: number;
  to: number;
  edit: number;
  /**
   * Occurrences in (from, to] that must be in the ledger, computed from the request and not from
   * the product's plan.
   */
  owed: number[];
  /** `held`: due under a pause that a resume, an edit or a delete ended; these need not have run. */
  kind: "active" | "held" | "held for good" | "deleted";
}

type Model = { kind: "once"; at: number } | { kind: "steps"; first: number; step: number };

const second = 1_000;

/** The oracle's own parser for the few forms that the race uses. `every` counts from its edit. */
export function modelOf(when: string, since: number): Model {
  const [, amount, unit] = /^(?:every|in) (\d+)(s|m)$/.exec(when) ?? [];
  const ms = Number(amount) * (unit === "m" ? 60 * second : second);
  if (when.startsWith("every ") && amount !== undefined)
    return { kind: "steps", first: since + ms, step: ms };
  if (when.startsWith("in ") && amount !== undefined) return { kind: "once", at: since + ms };
  if (when.startsWith("at ")) return { kind: "once", at: Date.parse(when.slice(3)) };
  const [, seconds] = /^\*\/(\d+) \* \* \* \* \*$/.exec(when) ?? [];
  if (seconds !== undefined) return { kind: "steps", first: 0, step: Number(seconds) * second };
  if (when === "* * * * *") return { kind: "steps", first: 0, step: 60 * second };
  throw new Error(`The oracle does not know "${when}".`);
}

function within(model: Model, from: number, to: number): number[] {
  if (model.kind === "once") return model.at > from && model.at <= to ? [model.at] : [];
  const { first, step } = model;
  const start = Math.max(first, first + (Math.floor((from - first) / step) + 1) * step);
  const found: number[] = [];
  for (let at = start; at <= to; at += step) found.push(at);
  return found;
}

interface Standing {
  model: Model;
  /** The time from which due occurrences are left to the resume; null when no hold exists. */
  heldSince: number | null;
  deleted: boolean;
}

/** The expected occurrences of a schedule up to `end`, from its versions in order. */
export function owedBy(versions: readonly VersionRead[], end: number): Segment[] {
  const segments: Segment[] = [];
  const owners: Owners = new Map();
  let standing: Standing | undefined;
  for (const [index, version] of versions.entries()) {
    const { scheduleId, changedAt, edit } = version;
    const add = (kind: Segment["kind"], from: number, to: number, owed: number[]) =>
      segments.push({ scheduleId, from, to, edit, owed, kind });
    noteOwner(owners, version);
    const before = standing;
    const after = standingAfter(before, version, versions[index - 1], owners.size > 0);
    standing = after;

    const endsHold =
      before !== undefined && before.heldSince !== null && after.heldSince !== before.heldSince;
    if (endsHold && before.heldSince !== null) {
      add(
        "held",
        before.heldSince,
        changedAt,
        within(before.model, before.heldSince, Math.min(changedAt, end)),
      );
    }
    const to = versions[index + 1]?.changedAt ?? Math.max(end, changedAt);
    if (after.deleted) add("deleted", changedAt, Number.POSITIVE_INFINITY, []);
    else if (after.heldSince === null) {
      const owed = within(after.model, changedAt, Math.min(to, end));
      add("active", changedAt, to, [...pastOnce(before, after, changedAt), ...owed]);
    } else if (index === versions.length - 1) {
      add("held for good", after.heldSince, end, within(after.model, after.heldSince, end));
    }
  }
  return segments;
}

export function noteOwner(owners: Owners, { change, changedBy, changedAt, until }: VersionRead): void {
  for (const [owner, end] of owners) if (end <= changedAt) owners.delete(owner);
  if (change === "paused") owners.set(changedBy, until ?? Number.POSITIVE_INFINITY);
  if (change === "resumed") owners.delete(changedBy);
}

function standingAfter(
  before: Standing | undefined,
  { when, change, changedAt, specified }: VersionRead,
  previous: VersionRead | undefined,
  held: boolean,
): Standing {
  const counted = when.startsWith("in ") && change === "replaced";
  const sameWhen = previous !== undefined && when === previous.when && !counted;
  const model = before !== undefined && (!specified || sameWhen) ? before.model : modelOf(when, changedAt);
  const kept = before !== undefined && isDeepStrictEqual(model, before.model);
  const deleted = change === "deleted";
  if (!held || deleted) return { model, heldSince: null, deleted };
  if (kept && before.heldSince !== null) return { model, heldSince: before.heldSince, deleted };
  const [past] = kept ? [] : pastOnce(before, { model }, changedAt);
  return { model, heldSince: past === undefined ? changedAt : past - 1, deleted };
}

/** A new `at` may be slightly in the past: it is expected nevertheless. */
function pastOnce(before: Standing | undefined, { model }: { model: Model }, changedAt: number): number[] {
  if (model.kind !== "once" || model.at > changedAt || isDeepStrictEqual(model, before?.model)) return [];
  return [model.at];
}
