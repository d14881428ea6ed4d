import type { Sql, Tx } from "../db/connect.ts";
import { judge } from "./judge.ts";
import { firstOf, type Part } from "./merge.ts";
import type { AgendaOutcome } from "./outcomes.ts";
import { type Slice, Slices } from "./slices.ts";
import { type Among, type Candidate, type CandidatePlace, inOrder, type Source } from "./sources.ts";
import type { AgendaRow, Window } from "./window.ts";

const lookedMax = 1_000;

/** Each slice may be read up to the limit above. */
const slicesMax = 2_800;

const stepsMin = 8;

/**
 * How many slices each statement of a page reads, and how many schedules at most: the first ones
 * often fill the page. Together they take a slice of each rule: all of them may meet at one instant,
 * and a page must get past it.
 */
const stepsFor = (rules: number) => [
  { slices: 8, looked: 250 },
  { slices: 32, looked: 500 },
  { slices: 128, looked: lookedMax },
  ...Array.from({ length: Math.max(stepsMin, Math.ceil(rules / slicesMax)) }, () => ({
    slices: slicesMax,
    looked: lookedMax,
  })),
];

/** The most schedules whose settings a page reads. */
const judgedMax = 400;

export const candidatePlaceText = ({ at, key }: CandidatePlace): string => `${at}-${key}`;

/** Null for a text that is no place. */
export function readCandidatePlace(text: string): CandidatePlace | null {
  const [, at, key] = /^(\d{1,15})-([^/]*)$/.exec(text) ?? [];
  return at === undefined || key === undefined ? null : { at: Number(at), key };
}

interface ComputedSearch {
  after: CandidatePlace | null;
  limit: number;
  /** Leaves out occurrences that have a job. */
  pending: boolean;
  outcome: AgendaOutcome | undefined;
  among: Among;
}

/**
 * The occurrences of live schedules in a window, by occurrence and key, as their cadences give them.
 * A page reads a bounded number of schedules: it may have fewer than `limit` rows and still end
 * before the window does.
 */
export async function computedIn(
  sql: Sql,
  source: Source,
  { from: earliest, to }: Window,
  { after, limit, pending, outcome, among }: ComputedSearch,
): Promise<Part<AgendaRow>> {
  const rows: Part<AgendaRow>["rows"] = [];
  const begin = Math.max(earliest, after?.at ?? earliest);
  const rules = await source.rules(sql, among);
  const coming = await Slices.of(rules, { from: begin, to });
  // Few of them may have the outcome: then as many as a page judges are judged together.
  const wanted = outcome === undefined ? limit : judgedMax;
  let open: Slice[] = [];
  let place = after;
  let judged = 0;
  for (const { slices, looked: most } of stepsFor(rules.length)) {
    const taken = coming.take(slices);
    open.push(...taken.slices);
    // Each interval has a slice that starts with the window: no candidate is known until all are taken.
    if (isAtStart(taken.until, begin)) continue;
    const { found, last } = await source.look(sql, open, { after: place, most, among });
    const end = earlier(last, taken.until);
    const meant = upTo(found, end);
    for (let at = 0; at < meant.length; ) {
      const some = meant.slice(at, at + Math.min(wanted - rows.length, judgedMax - judged));
      rows.push(...(await rowsOf(sql, some, { pending, outcome })));
      at += some.length;
      judged += some.length;
      place = some.at(-1) ?? place;
      const full = firstOf(rows, limit);
      if (full !== null) return full;
      if (place !== null && judged >= judgedMax) return { rows, last: lastAt(place) };
    }
    if (end === null) return { rows, last: null };
    // Slices that were not taken may begin at the instant of the place: it does not go back.
    place = later(place, end);
    // The statements that follow read up to this limit in each of their slices, and few rows may fit.
    // Where more slices meet at one instant than were taken, only those statements get past it.
    if (outcome !== undefined && last !== null && most === lookedMax && isBeyond(place, begin, after)) break;
    open = open.flatMap((slice) => partFrom(slice, end.at));
  }
  return { rows, last: lastAt(place) };
}

const upTo = (found: readonly Candidate[], end: CandidatePlace | null) =>
  end === null ? found : found.filter((each) => inOrder(each, end) <= 0);

/** The part of a slice that starts at an instant or later. */
function partFrom(slice: Slice, at: number): Slice[] {
  const { base, low, high } = slice;
  return base + high <= at ? [] : [{ ...slice, low: Math.max(low, at - base) }];
}

const later = (place: CandidatePlace | null, end: CandidatePlace) =>
  place === null || inOrder(end, place) > 0 ? end : place;

const isBeyond = ({ at, key }: CandidatePlace, begin: number, after: CandidatePlace | null) =>
  at > begin || key !== (after?.key ?? "");

const isAtStart = (until: number | null, begin: number) => until !== null && until <= begin;

const lastAt = (place: CandidatePlace | null) =>
  place === null ? null : { at: place.at, place: candidatePlaceText(place) };

/**
 * Up to where the candidates are known: where looking ended, or before the first slice that was not
 * taken. Null if all are known.
 */
function earlier(last: CandidatePlace | null, until: number | null): CandidatePlace | null {
  const before = until === null ? null : { at: until, key: "" };
  if (last === null || before === null) return last ?? before;
  return inOrder(last, before) <= 0 ? last : before;
}

async function rowsOf(
  tx: Tx,
  candidates: readonly Candidate[],
  { pending, outcome }: Pick<ComputedSearch, "pending" | "outcome">,
): Promise<Part<AgendaRow>["rows"]> {
  const judged = await judge(tx, candidates);
  return candidates.flatMap((candidate, index) => {
    const row = judged[index] ?? null;
    // A past occurrence whose job is made is met in the ledger.
    if (row === null || (pending && (row.job !== null || row.outcome === "unrecorded"))) return [];
    if (outcome !== undefined && row.outcome !== outcome) return [];
    return [{ row, at: candidate.at, place: candidatePlaceText(candidate) }];
  });
}
