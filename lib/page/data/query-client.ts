import { QueryCache, QueryClient } from "@tanstack/react-query";
import { Carillon } from "../../client/carillon.ts";
import { CarillonProblem, isDenied } from "../../client/request/problem.ts";
import type { Bearer } from "../sign-in/bearer.ts";

/** The API's address: the page's own, which the document's `base` names. */
export const apiUrl = () => document.baseURI.replace(/\/$/, "");

/** The client and the cache of one reader. A token that the API refuses ends the session. */
export function makeQueries(
  { token, fetch, refusedText }: Bearer,
  onSignOut: (reason: string) => void,
): { queryClient: QueryClient; carillon: Carillon } {
  // The cache retries, so that a view can show that it does.
  const carillon = new Carillon({ url: apiUrl(), token, fetch, retries: 0 });
  const queryClient = new QueryClient({
    queryCache: new QueryCache({
      onError: (error) => {
        if (error instanceof CarillonProblem && error.status === 401) onSignOut(refusedText());
      },
    }),
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        // A browser may be wrong about being offline, and an answer from this computer needs no network.
        networkMode: "always",
        retry: (failures, error) => failures < 3 && !isFinal(error),
        retryDelay: (failures) => 300 * 3 ** failures,
        refetchOnWindowFocus: true,
      },
    },
  });
  return { queryClient, carillon };
}

/** A request that the API understood and refused is refused again. */
export function isFinal(error: Error): boolean {
  return (
    isDenied(error) ||
    (error instanceof CarillonProblem && error.status >= 400 && error.status < 500 && error.status !== 429)
  );
}
