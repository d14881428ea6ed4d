import { notifyManager, type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { spanText } from "../data/amounts.ts";
import { isFinal } from "../data/query-client.ts";
import { useNow } from "../hooks/use-now.ts";

/** Says that what is on the screen is old because the API does not answer, and how old. */
export function StaleNotice() {
  const queryClient = useQueryClient();
  const now = useNow();
  const since = useSyncExternalStore(
    (notify) => queryClient.getQueryCache().subscribe(notifyManager.batchCalls(notify)),
    () => staleSince(queryClient),
  );
  if (since === null) return null;
  return (
    <div className="stale" role="status">
      <p>
        <b>The API does not answer.</b> This is {spanText(Math.max(1_000, now - since))} old. Whether jobs run
        cannot be seen from here.
      </p>
      <button
        type="button"
        className="button"
        onClick={() => void queryClient.refetchQueries({ type: "active" })}
      >
        Try again
      </button>
    </div>
  );
}

/** The age of the oldest answer on the screen that could not be refreshed; null if all could. */
function staleSince(queryClient: QueryClient): number | null {
  const ages = queryClient
    .getQueryCache()
    .getAll()
    .filter(({ state }) => {
      const failure = state.error ?? state.fetchFailureReason;
      // A refusal, such as that of a schedule that is deleted meanwhile, is an answer.
      return state.data !== undefined && failure !== null && !isFinal(failure);
    })
    .filter((query) => query.isActive())
    .map(({ state }) => state.dataUpdatedAt);
  return ages.length === 0 ? null : Math.min(...ages);
}
