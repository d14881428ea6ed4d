import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { AgendaFilter, AgendaOutcome, AgendaWindow } from "../../client/agenda.ts";
import type { Carillon } from "../../client/carillon.ts";

const pageLength = 100;

/** All occurrences of a window, oldest first, page by page. */
export const agendaQuery = (carillon: Carillon, window: AgendaFilter) =>
  infiniteQueryOptions({
    queryKey: ["agenda", window],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      carillon.agenda({ ...window, limit: pageLength, cursor: pageParam, signal }).page(),
    getNextPageParam: (page) => page.cursor,
  });

/** How many there are, and of which cadences. */
export const agendaCountsQuery = (carillon: Carillon, window: AgendaWindow) =>
  queryOptions({
    queryKey: ["agenda counts", window],
    queryFn: ({ signal }) => carillon.agendaCounts(window, { signal }),
  });

/** How many of them have one outcome, and of which schedules. */
export const agendaSchedulesQuery = (carillon: Carillon, asked: AgendaWindow & { outcome: AgendaOutcome }) =>
  queryOptions({
    queryKey: ["agenda schedules", asked],
    queryFn: ({ signal }) => carillon.agendaSchedules(asked, { signal }),
  });
