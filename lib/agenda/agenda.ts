import type { Sql } from "../db/connect.ts";
import { parseJobId } from "../job/job-id.ts";
import { cutOf, readShards } from "../plan/shard.ts";
import { computedIn, readCandidatePlace } from "./computed.ts";
import { jobsIn } from "./jobs.ts";
import { merged, type Part, type StreamPlace } from "./merge.ts";
import { rangesIn, readRangePlace } from "./passed.ts";
import { type Source, sourceFor } from "./sources.ts";
import type { AgendaFilter, AgendaRow, Window } from "./window.ts";

/**
 * Where an agenda continues. Up to `line` it reads the ledger, beyond it the cadences; the line is
 * drawn by the first page, so that each row is on one side on all pages.
 */
export interface AgendaPlace {
  line: number;
  jobs: StreamPlace;
  ranges: StreamPlace;
  pending: StreamPlace;
  beside: StreamPlace;
  computed: StreamPlace;
}

export interface Agenda {
  asOf: Date;
  items: AgendaRow[];
  next?: AgendaPlace;
}

export interface AgendaSearch {
  window: Window;
  filter: AgendaFilter;
  after?: AgendaPlace | undefined;
  limit: number;
}

const streams = ["jobs", "ranges", "pending", "beside", "computed"] as const;

/** A key has no `/`. A stream that has ended is a dot. */
export function agendaPlaceText({ line, ...places }: AgendaPlace): string {
  return [line, ...streams.map((name) => places[name] ?? ".")].join("/");
}

/** Null for a text that is no place. */
export function readAgendaPlace(text: string): AgendaPlace | null {
  const [line = "", jobs, ranges, pending, beside, computed, ...rest] = text.split("/");
  if (computed === undefined || rest.length > 0 || !/^\d{1,15}$/.test(line)) return null;
  const isOne = (place: string | undefined, read: (text: string) => unknown) =>
    place === "" || place === "." || (place !== undefined && read(place) !== null);
  const areAll =
    [jobs, beside].every((place) => isOne(place, parseJobId)) &&
    isOne(ranges, readRangePlace) &&
    [pending, computed].every((place) => isOne(place, readCandidatePlace));
  if (!areAll) return null;
  const placeOf = (place = "") => (place === "." ? null : place);
  return {
    line: Number(line),
    jobs: placeOf(jobs),
    ranges: placeOf(ranges),
    pending: placeOf(pending),
    beside: placeOf(beside),
    computed: placeOf(computed),
  };
}

/**
 * All occurrences in a window, oldest first: past ones as the ledger has them, later ones as the
 * cadences of live schedules give them. Each statement reads by itself, outside of a transaction,
 * since cadences are computed between them. A page may have fewer rows than its limit and still a
 * `next`.
 */
export async function readAgenda(sql: Sql, search: AgendaSearch): Promise<Agenda> {
  const { window, filter, limit } = search;
  const states = await readShards(sql);
  const now = cutOf(states);
  const planned = Math.min(...[...states.values()].map(({ watermarkAt }) => watermarkAt.getTime()));
  const begin = { jobs: "", ranges: "", pending: "", beside: "", computed: "" };
  // At the watermark's instant itself some jobs may not be made yet.
  const place = search.after ?? { line: Math.min(now.getTime(), planned - 1), ...begin };
  const context: Context = { sql, window, filter, limit, now: now.getTime(), source: once(sql, filter) };
  const past = await pastRows(context, place);
  const answer = (items: AgendaRow[], next: AgendaPlace): Agenda => {
    const isOver = streams.every((name) => next[name] === null);
    return { asOf: now, items, ...(isOver ? {} : { next }) };
  };
  const isPast = past.next.jobs !== null || past.next.ranges !== null || past.next.pending !== null;
  if (isPast || past.rows.length === limit) return answer(past.rows, past.next);
  const coming = await comingRows({ ...context, limit: limit - past.rows.length }, past.next);
  return answer([...past.rows, ...coming.rows], coming.next);
}

interface Context {
  sql: Sql;
  window: Window;
  filter: AgendaFilter;
  limit: number;
  now: number;
  source: () => Promise<Source>;
}

function once(sql: Sql, filter: AgendaFilter): () => Promise<Source> {
  let source: Promise<Source> | undefined;
  return () => {
    source ??= sourceFor(sql, filter);
    return source;
  };
}

async function pastRows(
  context: Context,
  place: AgendaPlace,
): Promise<{ rows: AgendaRow[]; next: AgendaPlace }> {
  const { sql, window, filter, limit, now, source } = context;
  const past = { from: window.from, to: Math.min(window.to, place.line + 1) };
  const parts = [
    await partOf(place.jobs, (after) => jobsIn(sql, past, filter, { after, limit, beside: false, now })),
    await partOf(place.ranges, (after) =>
      rangesIn(sql, window, filter, { after: after === null ? null : readRangePlace(after), limit }),
    ),
    await partOf(place.pending, async (after) =>
      past.from >= past.to
        ? over
        : computedIn(sql, await source(), past, { after: candidateAt(after), limit, pending: true }),
    ),
  ];
  const { rows, places } = merged(parts, limit);
  const [jobs = null, ranges = null, pending = null] = places;
  return { rows, next: { ...place, jobs, ranges, pending } };
}

async function comingRows(
  context: Context,
  place: AgendaPlace,
): Promise<{ rows: AgendaRow[]; next: AgendaPlace }> {
  const { sql, window, filter, limit, now, source } = context;
  const coming = { from: Math.max(window.from, place.line + 1), to: window.to };
  const parts = [
    await partOf(place.beside, (after) => jobsIn(sql, coming, filter, { after, limit, beside: true, now })),
    await partOf(place.computed, async (after) =>
      coming.from >= coming.to
        ? over
        : computedIn(sql, await source(), coming, { after: candidateAt(after), limit, pending: false }),
    ),
  ];
  const { rows, places } = merged(parts, limit);
  const [beside = null, computed = null] = places;
  return { rows, next: { ...place, beside, computed } };
}

const over: Part<AgendaRow> = { rows: [], last: null };

async function partOf(
  from: StreamPlace,
  read: (after: string | null) => Promise<Part<AgendaRow>>,
): Promise<{ part: Part<AgendaRow>; from: StreamPlace }> {
  return { part: from === null ? over : await read(from === "" ? null : from), from };
}

const candidateAt = (after: string | null) => (after === null ? null : readCandidatePlace(after));
