import { queryOptions } from "@tanstack/react-query";
import type { Carillon } from "../../client/carillon.ts";
import { monthAfter } from "./time/months.ts";
import { instantOfWall } from "./time/wall-input.ts";

const nextShown = 60;
const versionsShown = 20;
const pastShown = 60;
const dayMs = 86_400_000;
/** How far back the strip of a schedule looks for runs. */
const pastMs = 7 * dayMs;

export const scheduleQuery = (carillon: Carillon, key: string) =>
  queryOptions({
    queryKey: ["schedule", key],
    queryFn: ({ signal }) => carillon.schedules.get(key, { signal }),
  });

export const nextQuery = (carillon: Carillon, key: string) =>
  queryOptions({
    queryKey: ["schedule", key, "next"],
    queryFn: ({ signal }) => carillon.schedules.next(key, { n: nextShown }, { signal }),
  });

/** Past occurrences, newest first, each with its sentence. */
export const pastQuery = (carillon: Carillon, key: string) =>
  queryOptions({
    queryKey: ["schedule", key, "past"],
    queryFn: async ({ signal }) => {
      const strip = await carillon.schedules.occurrences(key, {
        from: new Date(Date.now() - pastMs),
        limit: pastShown,
        signal,
      });
      return { ...strip, items: strip.items.toReversed() };
    },
  });

export const explainQuery = (carillon: Carillon, key: string, at: string) =>
  queryOptions({
    queryKey: ["schedule", key, "explain", at],
    queryFn: ({ signal }) => carillon.schedules.explain(key, at, { signal }),
  });

export const versionsQuery = (carillon: Carillon, key: string) =>
  queryOptions({
    queryKey: ["schedule", key, "versions"],
    queryFn: ({ signal }) => carillon.schedules.versions(key, { limit: versionsShown, signal }).page(),
  });

export const jobQuery = (carillon: Carillon, id: string) =>
  queryOptions({ queryKey: ["job", id], queryFn: ({ signal }) => carillon.jobs.get(id, { signal }) });

const monthRunsShown = 100;

/** The occurrences of a month in the schedule's zone, past and to come, oldest first. */
export const monthRunsQuery = (
  carillon: Carillon,
  key: string,
  { month, timezone }: { month: string; timezone: string },
) =>
  queryOptions({
    queryKey: ["schedule", key, "month", month, timezone],
    queryFn: ({ signal }) => {
      const [from, to] = [month, monthAfter(month, 1)].map((each) =>
        new Date(instantOfWall(`${each}-01T00:00`, timezone) ?? 0).toISOString(),
      );
      return carillon.schedules.occurrences(key, { from, to, limit: monthRunsShown, signal });
    },
    placeholderData: (before) => before,
  });
