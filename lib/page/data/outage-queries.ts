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

/** The most outages that are drawn into a span of time. */
const besideMax = 20;

interface Span {
  from: string;
  /** An open span goes on to now. */
  to?: string | undefined;
}

/** The outages within a span of time, oldest first. */
async function outagesIn(carillon: Carillon, span: Span, signal: AbortSignal): Promise<Outage[]> {
  const { items } = await carillon.outages({ ...span, limit: besideMax, signal }).page();
  return items.toReversed();
}

export const outagesInQuery = (carillon: Carillon, { from, to }: Span) =>
  queryOptions({
    queryKey: ["outages", from, to],
    queryFn: ({ signal }) => outagesIn(carillon, { from, to }, signal),
  });

const hourMs = 3_600_000;

/** The outages of the last hour, which moves on with each request. */
export const lastHourOutagesQuery = (carillon: Carillon) =>
  queryOptions({
    queryKey: ["outages", "last hour"],
    queryFn: ({ signal }) =>
      outagesIn(carillon, { from: new Date(Date.now() - hourMs).toISOString() }, signal),
  });

export const outageWords: Readonly<Record<Outage["what"], string>> = {
  tick: "No tick ran",
  database: "No tick reached the database",
  "fast-workers": "No worker claimed from the fast queue",
  "slow-workers": "No worker claimed from the slow queue",
};
