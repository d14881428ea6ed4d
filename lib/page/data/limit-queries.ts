import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Carillon } from "../../client/carillon.ts";

/** All targets with their limits, by name, page by page. */
export const limitsQuery = (carillon: Carillon) =>
  infiniteQueryOptions({
    queryKey: ["limits"],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      carillon.limits.list({ limit: 100, cursor: pageParam, signal }).page(),
    getNextPageParam: (page) => page.cursor,
  });

/** One target with the version of its limits. */
export const limitQuery = (carillon: Carillon, target: string) =>
  queryOptions({
    queryKey: ["limits", target],
    queryFn: ({ signal }) => carillon.limits.get(target, { signal }),
    staleTime: 0,
    gcTime: 0,
  });
