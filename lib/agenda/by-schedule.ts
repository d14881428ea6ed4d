import type { Sql } from "../db/connect.ts";
import type { HeldBy } from "../explain/verdict.ts";
import { type AgendaPlace, readAgenda } from "./agenda.ts";
import type { AgendaOutcome } from "./outcomes.ts";
import type { AgendaFilter, AgendaRow, Window } from "./window.ts";

/** The occurrences of one schedule in a window that have the outcome asked for. */
export interface ScheduleCount {
  key: string;
  scheduleId: string;
  occurrences: number;
  first: Date;
  last: Date;
  /** For the outcome `held`: the holds of its first occurrence. */
  heldBy?: HeldBy[];
}

export interface ScheduleCounts {
  asOf: Date;
  occurrences: number;
  schedules: number;
  /** Not all rows were read, or a range has more occurrences than were counted: the numbers are at least so high. */
  more: boolean;
  /** The schedules in the order of their first occurrences. */
  items: ScheduleCount[];
}

export interface ScheduleCountSearch {
  window: Window;
  filter: AgendaFilter;
  outcome: AgendaOutcome;
}

/** A page of this length judges as many schedules as a page may. */
const pageRows = 400;

/** 4,000 rows at most. */
const pagesMax = 10;

const listedMax = 100;

/**
 * How many occurrences of a window have one outcome, of which schedules. They are the rows of the
 * agenda, since an outcome is known only once a row is judged, and a bounded number of its pages is read.
 */
export async function countBySchedule(
  sql: Sql,
  { window, filter, outcome }: ScheduleCountSearch,
): Promise<ScheduleCounts> {
  const found = new Map<string, ScheduleCount>();
  let after: AgendaPlace | undefined;
  let asOf: Date | undefined;
  let more = false;
  for (let page = 0; page < pagesMax; page++) {
    const read = await readAgenda(sql, { window, filter, outcome, after, limit: pageRows });
    asOf ??= read.asOf;
    for (const row of read.items) {
      add(found, row);
      more ||= row.passedOver?.more === true || row.passedOver?.count === null;
    }
    after = read.next;
    if (after === undefined) break;
  }
  const all = [...found.values()];
  return {
    asOf: asOf ?? new Date(window.from),
    occurrences: all.reduce((sum, { occurrences }) => sum + occurrences, 0),
    schedules: all.length,
    more: more || after !== undefined,
    items: all.slice(0, listedMax),
  };
}

function add(found: Map<string, ScheduleCount>, row: AgendaRow): void {
  const { key, scheduleId, occurrence, passedOver, heldBy } = row;
  const occurrences = passedOver?.count ?? 1;
  const known = found.get(scheduleId);
  if (known === undefined)
    found.set(scheduleId, {
      key,
      scheduleId,
      occurrences,
      first: passedOver?.from ?? occurrence,
      last: occurrence,
      ...(heldBy === undefined ? {} : { heldBy }),
    });
  else {
    known.occurrences += occurrences;
    known.last = occurrence;
  }
}
