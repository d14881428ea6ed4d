import { infiniteQueryOptions } from "@tanstack/react-query";
import type { Carillon } from "../../client/carillon.ts";

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
