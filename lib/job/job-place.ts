import { type JobKey, type JobKind, kindOfLetter, letterOfKind } from "./job-id.ts";

/**
 * The end of a page of a schedule's jobs: behind one job, or (kind null) behind all jobs of an
 * occurrence. Jobs are sorted newest first; those of one occurrence by kind and number, the highest
 * first.
 */
export interface JobPlace {
  at: number;
  kind: JobKind | null;
  n: number;
}

/** In the order of the enum in the database. */
const ranks = { cadence: 0, manual: 1, backfill: 2, again: 3 } as const;

type Ordered = Pick<JobKey, "occurrence" | "kind" | "n">;

/** For sorting: the newest first. */
export function byPlace(a: Ordered, b: Ordered): number {
  return b.occurrence.getTime() - a.occurrence.getTime() || ranks[b.kind] - ranks[a.kind] || b.n - a.n;
}

export function placeBehind({ occurrence, kind, n }: Ordered): JobPlace {
  return { at: occurrence.getTime(), kind, n };
}

/** `1772445600000` behind all jobs of an occurrence, `1772445600000-m3` behind one job. */
export function placeText({ at, kind, n }: JobPlace): string {
  return kind === null ? String(at) : `${at}-${letterOfKind[kind]}${n}`;
}

/** Null for a text that is no place. */
export function readPlace(text: string): JobPlace | null {
  const [, at, letter, n] = /^(0|-?[1-9]\d{0,14})(?:-([cmba])(0|[1-9]\d{0,8}))?$/.exec(text) ?? [];
  if (at === undefined) return null;
  return {
    at: Number(at),
    kind: letter === undefined ? null : (kindOfLetter[letter] ?? null),
    n: Number(n ?? 0),
  };
}
