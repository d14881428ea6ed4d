import { useRefreshMs } from "./live.tsx";

const refreshMs = 15_000;

interface ListQuery {
  state: { data?: { pages: readonly unknown[] } | undefined };
}

/**
 * The pause between two refreshes of a list. A list of which more than its first page is loaded is
 * refreshed by its button only, because all its pages would be read again.
 */
export function useListRefresh(): (query: ListQuery) => number | false {
  const everyMs = useRefreshMs(refreshMs);
  return ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : everyMs);
}
