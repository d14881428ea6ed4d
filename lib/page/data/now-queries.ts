import { queryOptions } from "@tanstack/react-query";
import type { Carillon } from "../../client/carillon.ts";

const hourMs = 3_600_000;

/** The problems, the worst first. */
export const problemsQuery = (carillon: Carillon) =>
  queryOptions({ queryKey: ["problems"], queryFn: ({ signal }) => carillon.problems({ signal }) });

export const statsQuery = (carillon: Carillon) =>
  queryOptions({ queryKey: ["stats"], queryFn: ({ signal }) => carillon.stats({ signal }) });

/** The outcomes of the last hour, oldest first. */
export const lastHourQuery = (carillon: Carillon) =>
  queryOptions({
    queryKey: ["series", "last hour"],
    queryFn: async ({ signal }) => {
      const page = await carillon.series({ step: "1m", limit: 61, signal }).page();
      return { ...page, items: page.items.toReversed() };
    },
  });

/** The runs of each minute of the coming hour. */
export const nextHourQuery = (carillon: Carillon) =>
  queryOptions({
    queryKey: ["forecast", "next hour"],
    queryFn: ({ signal }) => carillon.forecast({ minutes: 61 }, { signal }),
  });

/** The first runs that come. */
export const nextRunsQuery = (carillon: Carillon) =>
  queryOptions({
    queryKey: ["agenda", "next"],
    queryFn: ({ signal }) => {
      const from = new Date();
      return carillon
        .agenda({ from, to: new Date(from.getTime() + hourMs), limit: nextRunsShown, signal })
        .page();
    },
  });

const nextRunsShown = 8;
