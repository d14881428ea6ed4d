import { infiniteQueryOptions } from "@tanstack/react-query";
import type { Carillon } from "../../client/carillon.ts";

const pageLength = 100;

/** The quarantine by consumer and item, page by page. */
export const quarantineQuery = (carillon: Carillon, prefix: string | undefined) =>
  infiniteQueryOptions({
    queryKey: ["quarantine", prefix],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      carillon.quarantine.list({ prefix, limit: pageLength, cursor: pageParam, signal }).page(),
    getNextPageParam: (page) => page.cursor,
  });
