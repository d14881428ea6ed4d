import { queryOptions } from "@tanstack/react-query";
import type { AgendaItem } from "../../client/agenda.ts";
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

/** The first runs of the coming hour. */
export interface NextRuns {
  items: readonly AgendaItem[];
  from: string;
  to: string;
  /** The search ended at its limit: the hour may have more runs than those. */
  isCut: boolean;
}

export const nextRunsQuery = (carillon: Carillon) =>
  queryOptions({ queryKey: ["agenda", "next"], queryFn: ({ signal }) => nextRunsOf(carillon, signal) });

/** The server bounds the work for a page, so a page may be empty although runs follow. */
async function nextRunsOf(carillon: Carillon, signal: AbortSignal): Promise<NextRuns> {
  const now = Date.now();
  const [from, to] = [new Date(now).toISOString(), new Date(now + hourMs).toISOString()];
  const items: AgendaItem[] = [];
  let asked = 0;
  let isCut = false;
  for await (const page of carillon.agenda({ from, to, limit: nextRunsShown, signal }).pages()) {
    asked += 1;
    items.push(...page.items);
    if (items.length >= nextRunsShown) break;
    isCut = asked === pagesAsked && page.cursor !== undefined;
    if (isCut) break;
  }
  return { items: items.slice(0, nextRunsShown), from, to, isCut };
}

const nextRunsShown = 8;
/** A search that finds less in so many pages would take long. */
const pagesAsked = 8;
