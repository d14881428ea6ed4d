import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Carillon } from "../../client/carillon.ts";
import type { ScheduleFilter } from "../../client/schedule.ts";

const pageLength = 100;

/** The schedules of a filter, page by page. */
export const schedulesQuery = (carillon: Carillon, filter: ScheduleFilter) =>
  infiniteQueryOptions({
    queryKey: ["schedules", filter],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      carillon.schedules.list({ ...filter, limit: pageLength, cursor: pageParam, signal }).page(),
    getNextPageParam: (page) => page.cursor,
  });

export const scheduleCountQuery = (carillon: Carillon, filter: ScheduleFilter) =>
  queryOptions({
    queryKey: ["schedules", "count", filter],
    queryFn: ({ signal }) => carillon.schedules.count({ ...filter, signal }),
  });

/** How many runs a row's strip shows. */
export const stripLength = 16;

/** The last runs of one page of schedules. */
export const lastRunsQuery = (carillon: Carillon, keys: readonly string[]) =>
  queryOptions({
    queryKey: ["last runs", keys],
    queryFn: async ({ signal }) => {
      const { items } = await carillon.lastRuns({ keys: [...keys], n: stripLength }, { signal });
      return new Map(items.map(({ key, runs }) => [key, runs]));
    },
    enabled: keys.length > 0,
  });
