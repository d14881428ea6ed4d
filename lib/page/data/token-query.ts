import { infiniteQueryOptions, queryOptions, useQuery } from "@tanstack/react-query";
import type { Carillon } from "../../client/carillon.ts";
import { useSession } from "../hooks/session-context.ts";

const staleMs = 300_000;

/** The token of this session and what it may do. */
export const ownTokenQuery = (carillon: Carillon) =>
  queryOptions({
    queryKey: ["own token"],
    queryFn: ({ signal }) => carillon.tokens.own({ signal }),
    staleTime: staleMs,
  });

/** All tokens that this one may see, by name. */
export const tokensQuery = (carillon: Carillon) =>
  infiniteQueryOptions({
    queryKey: ["tokens"],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      carillon.tokens.list({ limit: 100, cursor: pageParam, signal }).page(),
    getNextPageParam: (page) => page.cursor,
  });

/**
 * Whether the token may use an operation, by its name in the OpenAPI document. False until it is
 * known, so that no button appears and goes. The server decides in any case.
 */
export const useMay = (operation: string): boolean => useRight(operation) === true;

/** Whether it is known that the token may not use the operation. */
export const useMayNot = (operation: string): boolean => useRight(operation) === false;

function useRight(operation: string): boolean | undefined {
  const { carillon } = useSession();
  const { data } = useQuery(ownTokenQuery(carillon));
  return data?.may.some(({ operations }) => operations.some((each) => each.operation === operation));
}
