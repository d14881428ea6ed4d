import { infiniteQueryOptions } from "@tanstack/react-query";
import type { Carillon } from "../../client/carillon.ts";
import type { HoldFilter } from "../../client/holds.ts";

export const holdsQuery = (carillon: Carillon, filter: HoldFilter) =>
  infiniteQueryOptions({
    queryKey: ["holds", filter],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      carillon.holds({ ...filter, limit: 100, cursor: pageParam, signal }).page(),
    getNextPageParam: (page) => page.cursor,
  });
