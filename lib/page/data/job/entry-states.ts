import { queryOptions } from "@tanstack/react-query";
import type { Carillon } from "../../../client/carillon.ts";

/** How many jobs of retries or cancels are in each state now. */
export const entryStatesQuery = (carillon: Carillon, entries: readonly string[]) =>
  queryOptions({
    queryKey: ["entry states", ...entries],
    queryFn: ({ signal }) => carillon.jobs.states(entries, { signal }),
  });
