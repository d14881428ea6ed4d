import type { Sql } from "../../db/connect.ts";
import { type ListedGroup, listGroups } from "../../history/groups/list-groups.ts";
import { type EndedHold, type EndedPlace, readEndedHolds } from "../../history/holds/ended-holds.ts";
import { type Board, readBoard } from "../../history/holds/hold-board.ts";
import { type NotedOutage, type OutagePlace, type OutageSearch, readOutages } from "../../parcel/outages.ts";
import { type Problems, readProblems } from "../../problems/read-problems.ts";
import { type CalendarImpact, calendarImpact } from "../../rules/calendar-impact.ts";
import type { CalendarBody } from "../../schedule/calendars.ts";
import { type Forecast, type ForecastQuery, readForecast } from "../../stats/forecast.ts";
import { type PrefixStats, readPrefixStats } from "../../stats/prefix-stats.ts";
import { readSeries, type Series, type SeriesSearch } from "../../stats/series.ts";
import { readStats, type Stats } from "../../stats/stats.ts";
import { type AgendaOperations, agendaOperations } from "./agenda-operations.ts";

/** Reads across many schedules: what is wrong, held, counted and planned, and what a change would move. */
export interface BoardOperations {
  /** The holds in force, those that end first at the front; a page may be short. */
  readHolds(params: Parameters<typeof readBoard>[1]): Promise<Board>;
  /** Newest first; a page may be short. */
  readEndedHolds(
    params: Parameters<typeof readEndedHolds>[1],
  ): Promise<{ items: EndedHold[]; next?: EndedPlace }>;
  /** By name; a page may be short. */
  listGroups(params: Parameters<typeof listGroups>[1]): Promise<{ items: ListedGroup[]; next?: string }>;
  readProblems(prefix: string | null): Promise<Problems>;
  readStats(): Promise<Stats>;
  readPrefixStats(prefix: string): Promise<PrefixStats>;
  readSeries(search: SeriesSearch): Promise<Series>;
  /** Newest first. */
  readOutages(search: OutageSearch): Promise<{ items: NotedOutage[]; next?: OutagePlace }>;
  agenda: AgendaOperations;
  readForecast(query: ForecastQuery): Promise<Forecast>;
  /** The changes that a put of this calendar would make. */
  calendarImpact(params: { name: string; body: CalendarBody }): Promise<CalendarImpact>;
}

export function boardOperations(sql: Sql): BoardOperations {
  return {
    readHolds: (params) => readBoard(sql, params),
    readEndedHolds: (params) => readEndedHolds(sql, params),
    listGroups: (params) => listGroups(sql, params),
    readProblems: (prefix) => readProblems(sql, prefix),
    readStats: () => readStats(sql),
    readPrefixStats: (prefix) => readPrefixStats(sql, prefix),
    readSeries: (search) => readSeries(sql, search),
    readOutages: (search) => readOutages(sql, search),
    agenda: agendaOperations(sql),
    readForecast: (query) => readForecast(sql, query),
    calendarImpact: (params) => calendarImpact(sql, params),
  };
}
