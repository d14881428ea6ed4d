import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Carillon } from "../../client/carillon.ts";
import type { Outage } from "../../client/stats.ts";

/** Newest first, page by page. */
export const outagesQuery = (carillon: Carillon) =>
  infiniteQueryOptions({
    queryKey: ["outages"],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => carillon.outages({ limit: 100, cursor: pageParam, signal }).page(),
    getNextPageParam: (page) => page.cursor,
  });

/** The most outages that are drawn into the time of one job. */
const besideMax = 20;

/** The outages within a span of time, oldest first. An open span goes on to now. */
export const outagesInQuery = (carillon: Carillon, { from, to }: { from: string; to: string | undefined }) =>
  queryOptions({
    queryKey: ["outages", from, to],
    queryFn: async ({ signal }) => {
      const { items } = await carillon.outages({ from, to, limit: besideMax, signal }).page();
      return items.toReversed();
    },
  });

export const outageWords: Readonly<Record<Outage["what"], string>> = {
  tick: "No tick ran",
  database: "No tick reached the database",
  "fast-workers": "No worker claimed from the fast queue",
  "slow-workers": "No worker claimed from the slow queue",
};
