import type { Sql } from "../db/connect.ts";
import { parseJobId } from "../job/job-id.ts";
import { cutOf, readShards } from "../plan/shard.ts";
import { candidatePlaceText, computedIn, readCandidatePlace } from "./computed.ts";
import { withHolds } from "./held-by.ts";
import { jobsIn } from "./jobs.ts";
import { merged, type Part, type StreamPlace } from "./merge.ts";
import { type AgendaOutcome, hasStream, isOfHeld, isOfPast } from "./outcomes.ts";
import { type RangeKind, rangesIn, readRangePlace } from "./ranges.ts";
import { sourceFor } from "./sources.ts";
import type { AgendaFilter, AgendaRow, Window } from "./window.ts";

/**
 * Where an agenda continues. The first page draws the line at the slowest shard: up to it, all jobs
 * are made that ever will be. Beyond it, an occurrence that the cadence of a live schedule gives is
 * computed, whether or not its job is made yet: a tick between two pages makes no difference.
 */
export interface AgendaPlace {
  line: number;
  jobs: StreamPlace;
  passed: StreamPlace;
  owed: StreamPlace;
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
  /** Only rows with this outcome. */
  outcome?: AgendaOutcome | undefined;
  after?: AgendaPlace | undefined;
  limit: number;
}

const streams = ["jobs", "passed", "owed", "computed"] as const;

const readers = {
  jobs: parseJobId,
  passed: readRangePlace,
  owed: readRangePlace,
  computed: readCandidatePlace,
};

/** A key has no `/`. A stream that has ended is a dot. */
export function agendaPlaceText({ line, ...places }: AgendaPlace): string {
  return [line, ...streams.map((name) => places[name] ?? ".")].join("/");
}

/** Null for a text that is no place. */
export function readAgendaPlace(text: string): AgendaPlace | null {
  const [line = "", ...texts] = text.split("/");
  if (texts.length !== streams.length || !/^\d{1,15}$/.test(line)) return null;
  const isOne = (name: (typeof streams)[number], place: string | undefined) =>
    place === "" || place === "." || (place !== undefined && readers[name](place) !== null);
  if (!streams.every((name, index) => isOne(name, texts[index]))) return null;
  const [jobs = null, passed = null, owed = null, computed = null] = texts.map((place) =>
    place === "." ? null : place,
  );
  return { line: Number(line), jobs, passed, owed, computed };
}

/**
 * All occurrences in a window, oldest first: past ones as the ledger has them, later ones as the
 * cadences of live schedules give them. Each statement reads by itself, outside of a transaction,
 * since cadences are computed between them. A page may have fewer rows than its limit and still a
 * `next`. An outcome is known only once a row is judged, so rows of other outcomes are left out
 * after they were read, and count for the bounds of the page.
 */
export async function readAgenda(
  sql: Sql,
  { window: asked, filter, outcome, after, limit }: AgendaSearch,
): Promise<Agenda> {
  const states = await readShards(sql);
  const now = cutOf(states);
  const window = isOfPast(outcome) ? { ...asked, to: Math.min(asked.to, now.getTime() + 1) } : asked;
  const planned = Math.min(...[...states.values()].map(({ watermarkAt }) => watermarkAt.getTime()));
  // At the watermark's instant itself some jobs may not be made yet.
  const line = after?.line ?? Math.min(now.getTime(), planned - 1);
  const place = after ?? { line, ...beginnings(outcome) };
  const page = { window, line, limit, outcome };
  const ranges = (kind: RangeKind) =>
    partOf(place[kind], (from) =>
      rangesIn(sql, kind, { window, filter }, { after: from === null ? null : readRangePlace(from), limit }),
    );
  const recorded = [
    await partOf(place.jobs, (from) =>
      jobsIn(sql, filter, {
        ...page,
        // Where no cadence gives rows, all jobs are listed as jobs.
        line: hasStream(outcome, "computed") ? line : Number.POSITIVE_INFINITY,
        now: now.getTime(),
        after: from === null ? null : parseJobId(from),
      }),
    ),
    await ranges("passed"),
    await ranges("owed"),
  ];
  const known = Math.min(...recorded.map(({ part }) => part.last?.at ?? Number.POSITIVE_INFINITY));
  const computed = await partOf(place.computed, (from) =>
    computedUpTo(sql, filter, { ...page, known, after: from }),
  );
  const { rows, places } = merged([...recorded, computed], limit);
  const [jobs = null, passed = null, owed = null, rest = null] = places;
  const isOver = places.every((each) => each === null);
  return {
    asOf: now,
    items: await withHolds(sql, rows),
    ...(isOver ? {} : { next: { line, jobs, passed, owed, computed: rest } }),
  };
}

/** A stream that cannot have the outcome has ended before it began. */
function beginnings(outcome: AgendaOutcome | undefined): Omit<AgendaPlace, "line"> {
  const [jobs = null, passed = null, owed = null, computed = null] = streams.map((stream) =>
    hasStream(outcome, stream) ? "" : null,
  );
  return { jobs, passed, owed, computed };
}

async function partOf(
  from: StreamPlace,
  read: (after: string | null) => Promise<Part<AgendaRow>>,
): Promise<{ part: Part<AgendaRow>; from: StreamPlace }> {
  return { part: from === null ? { rows: [], last: null } : await read(from === "" ? null : from), from };
}

interface ComputedPage {
  window: Window;
  line: number;
  limit: number;
  outcome: AgendaOutcome | undefined;
  /** Up to here the other streams are known: later rows would wait for the next page. */
  known: number;
  after: string | null;
}

/** Computed rows: up to the line those without a job, beyond it all. */
async function computedUpTo(
  sql: Sql,
  filter: AgendaFilter,
  { window, line, limit, outcome, known, after }: ComputedPage,
): Promise<Part<AgendaRow>> {
  const source = await sourceFor(sql, filter);
  const place = after === null ? null : readCandidatePlace(after);
  const end = Math.min(window.to, known + 1);
  // Jobs made since the page before: the other streams are now known less far.
  if (place !== null && after !== null && place.at >= end && end < window.to)
    return { rows: [], last: { at: end - 1, place: after } };
  const past = { from: window.from, to: Math.min(end, line + 1) };
  const coming = { from: Math.max(window.from, line + 1), to: end };
  const rows: Part<AgendaRow>["rows"] = [];
  for (const [within, pending] of [
    [past, true],
    [coming, false],
  ] as const) {
    if (within.from >= within.to || (place !== null && place.at >= within.to)) continue;
    if (rows.length === limit) return { rows, last: behind(within.from - 1) };
    const part = await computedIn(sql, source, within, {
      after: place,
      limit: limit - rows.length,
      pending,
      outcome,
      among: isOfHeld(outcome) ? "held" : pending ? "pending" : "all",
    });
    rows.push(...part.rows);
    if (part.last !== null) return { rows, last: part.last };
  }
  return { rows, last: end < window.to ? behind(end - 1) : null };
}

/** The place behind all candidates of an instant. */
const behind = (at: number) => ({ at, place: candidatePlaceText({ at: at + 1, key: "" }) });
