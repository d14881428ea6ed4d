import { infiniteQueryOptions } from "@tanstack/react-query";
import type { AuditFilter } from "../../client/audit.ts";
import type { Carillon } from "../../client/carillon.ts";

/** Recorded changes, newest first, page by page. */
export const auditQuery = (carillon: Carillon, filter: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: ["audit", filter],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      carillon.audit({ ...filter, limit: 100, cursor: pageParam, signal }).page(),
    getNextPageParam: (page) => page.cursor,
  });
