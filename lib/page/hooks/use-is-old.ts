import { useNow } from "./use-now.ts";

/** The answer on the screen, and whether the next one is awaited, as a query has them. */
export interface Seen {
  /** When the answer arrived; 0 before the first one. */
  dataUpdatedAt: number;
  isFetching: boolean;
  /** After a failure the notice that the API is away tells the age. */
  failureReason: Error | null;
}

/** After that many refreshes that did not come, an answer tells how it was, not how it is. */
const refreshesMissed = 2;

/**
 * Whether a newer answer is awaited in place of one that is old, as when a hidden tab is shown again. The
 * view then says that it refreshes: its ages would be taken for those of now.
 */
export function useIsOld({ dataUpdatedAt, isFetching, failureReason }: Seen, everyMs: number): boolean {
  const now = useNow();
  return (
    isFetching &&
    failureReason === null &&
    dataUpdatedAt > 0 &&
    now - dataUpdatedAt > refreshesMissed * everyMs
  );
}
