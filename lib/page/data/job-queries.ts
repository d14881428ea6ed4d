import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Carillon } from "../../client/carillon.ts";
import type { JobFilter, JobGroupFilter } from "../../client/job.ts";

const pageLength = 100;

export const jobsQuery = (carillon: Carillon, filter: JobFilter) =>
  infiniteQueryOptions({
    queryKey: ["jobs", filter],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      carillon.jobs.list({ ...filter, limit: pageLength, cursor: pageParam, signal }).page(),
    getNextPageParam: (page) => page.cursor,
  });

export const jobCountQuery = (carillon: Carillon, filter: JobFilter) =>
  queryOptions({
    queryKey: ["jobs", "count", filter],
    queryFn: ({ signal }) => carillon.jobs.count({ ...filter, signal }),
  });

/** The errors of dead jobs, the most frequent first. */
export const errorGroupsQuery = (carillon: Carillon, filter: JobGroupFilter) =>
  queryOptions({
    queryKey: ["job groups", filter],
    queryFn: ({ signal }) => carillon.jobs.groups({ ...filter, limit: 20, signal }),
  });
