import { queryOptions } from "@tanstack/react-query";
import type { Carillon } from "../../../client/carillon.ts";

/** How many jobs of retries or cancels are in each state now. */
export const entryStatesQuery = (carillon: Carillon, entries: readonly string[]) =>
  queryOptions({
    queryKey: ["entry states", ...entries],
    queryFn: ({ signal }) => carillon.jobs.states(entries, { signal }),
  });

const soughtMax = 100;

/**
 * The entries of the audit that changed the jobs. The API finds no entry by its id, so they are sought
 * among the newest retries and cancels; an older one is left out.
 */
export const changingEntriesQuery = (carillon: Carillon, entries: readonly string[]) =>
  queryOptions({
    queryKey: ["changing entries", ...entries],
    queryFn: async ({ signal }) => {
      const pages = await Promise.all(
        ["jobs.retried", "jobs.cancelled"].map((action) =>
          carillon.audit({ action, limit: soughtMax, signal }).page(),
        ),
      );
      return pages.flatMap(({ items }) => items).filter(({ id }) => entries.includes(id));
    },
    // A recorded change stays as it is.
    staleTime: Number.POSITIVE_INFINITY,
  });
