import { infiniteQueryOptions } from "@tanstack/react-query";
import type { Carillon } from "../../client/carillon.ts";

/** Newest first, page by page. */
export const outagesQuery = (carillon: Carillon) =>
  infiniteQueryOptions({
    queryKey: ["outages"],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => carillon.outages({ limit: 100, cursor: pageParam, signal }).page(),
    getNextPageParam: (page) => page.cursor,
  });
