import type { Sql } from "../../db/connect.ts";
import { type EndedHold, type EndedPlace, readEndedHolds } from "../../history/ended-holds.ts";
import { type Board, readBoard } from "../../history/hold-board.ts";
import { type CalendarImpact, calendarImpact } from "../../rules/calendar-impact.ts";
import type { CalendarBody } from "../../schedule/calendars.ts";
import { type Forecast, type ForecastQuery, readForecast } from "../../stats/forecast.ts";

/** Reads across many schedules: what is held, what runs when, and what a change would move. */
export interface BoardOperations {
  /** The holds in force, those that end first at the front; a page may be short. */
  readHolds(params: Parameters<typeof readBoard>[1]): Promise<Board>;
  /** Newest first; a page may be short. */
  readEndedHolds(
    params: Parameters<typeof readEndedHolds>[1],
  ): Promise<{ items: EndedHold[]; next?: EndedPlace }>;
  readForecast(query: ForecastQuery): Promise<Forecast>;
  /** The changes that a put of this calendar would make. */
  calendarImpact(params: { name: string; body: CalendarBody }): Promise<CalendarImpact>;
}

export function boardOperations(sql: Sql): BoardOperations {
  return {
    readHolds: (params) => readBoard(sql, params),
    readEndedHolds: (params) => readEndedHolds(sql, params),
    readForecast: (query) => readForecast(sql, query),
    calendarImpact: (params) => calendarImpact(sql, params),
  };
}
