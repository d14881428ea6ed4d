import { type Agenda, type AgendaSearch, readAgenda } from "../../agenda/agenda.ts";
import { countBySchedule, type ScheduleCountSearch, type ScheduleCounts } from "../../agenda/by-schedule.ts";
import { type AgendaCounts, countAgenda } from "../../agenda/counts.ts";
import { type LastRuns, readLastRuns } from "../../agenda/last-runs.ts";
import { readStrip, type Strip, type StripSearch } from "../../agenda/strip.ts";
import type { AgendaFilter, Window } from "../../agenda/window.ts";
import type { Sql } from "../../db/connect.ts";
import { databaseClock } from "../../db/database-clock.ts";

/** Reads of all occurrences of a window, and of the last ones. */
export interface AgendaOperations {
  /** The database's clock. */
  now(): Promise<Date>;
  /** A page may be short of its limit and still have a `next`. */
  read(search: AgendaSearch): Promise<Agenda>;
  count(window: Window, filter: AgendaFilter): Promise<AgendaCounts>;
  countSchedules(search: ScheduleCountSearch): Promise<ScheduleCounts>;
  strip(search: StripSearch): Promise<Strip>;
  last(params: { keys: readonly string[]; most: number }): Promise<{ asOf: Date; items: LastRuns[] }>;
}

export function agendaOperations(sql: Sql): AgendaOperations {
  return {
    now: () => databaseClock(sql),
    read: (search) => readAgenda(sql, search),
    count: (window, filter) => countAgenda(sql, window, filter),
    countSchedules: (search) => countBySchedule(sql, search),
    strip: (search) => readStrip(sql, search),
    last: (params) => readLastRuns(sql, params),
  };
}
