import { isLong } from "../data/more.ts";
import { useRefreshMs } from "./live.tsx";

export const listRefreshMs = 15_000;

interface ListQuery {
  state: { data?: { pages: readonly unknown[] } | undefined };
}

/** The pause between two refreshes of a list. A long list is refreshed by its button only. */
export function useListRefresh(): (query: ListQuery) => number | false {
  const everyMs = useRefreshMs(listRefreshMs);
  return ({ state }) => (isLong(state.data) ? false : everyMs);
}
