import { infiniteQueryOptions } from "@tanstack/react-query";
import type { Carillon } from "../../client/carillon.ts";

/** The groups by name, page by page. */
export const groupsQuery = (carillon: Carillon, prefix: string | undefined) =>
  infiniteQueryOptions({
    queryKey: ["groups", prefix],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      carillon.groups.list({ prefix, limit: 100, cursor: pageParam, signal }).page(),
    getNextPageParam: (page) => page.cursor,
  });

/** A group: its holds and open jobs, and its schedules page by page. */
export const groupQuery = (carillon: Carillon, group: string) =>
  infiniteQueryOptions({
    queryKey: ["group", group],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      carillon.groups.get(group, {
        limit: 100,
        signal,
        ...(pageParam === undefined ? {} : { cursor: pageParam }),
      }),
    getNextPageParam: (page) => page.cursor,
  });
