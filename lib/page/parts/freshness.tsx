import { ageText } from "../data/amounts.ts";
import { useLive } from "../hooks/live.tsx";
import { useNow } from "../hooks/use-now.ts";

interface FreshnessProps {
  /** When the answer on the screen arrived; 0 before the first one. */
  at: number;
  /** Asks again. Without it the view refreshes by itself, which can be paused. */
  refresh?: (() => void) | undefined;
}

/** How old a view is, and the button that changes it. */
export function Freshness({ at, refresh }: FreshnessProps) {
  const now = useNow();
  const { isLive, toggle } = useLive();
  const isPaused = refresh === undefined && !isLive;
  return (
    <p className="refresh faint">
      {at === 0 ? null : (
        <span>
          {isPaused ? "refresh paused, " : ""}updated {ageText(now - at)}
        </span>
      )}
      {refresh === undefined ? (
        <button type="button" className="text-button" onClick={toggle}>
          {isLive ? "pause refresh" : "resume"}
        </button>
      ) : (
        <button type="button" className="text-button" onClick={refresh}>
          refresh
        </button>
      )}
    </p>
  );
}
