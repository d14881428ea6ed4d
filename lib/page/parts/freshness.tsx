import { ageText } from "../data/amounts.ts";
import { useLive } from "../hooks/live.tsx";
import { type Seen, useIsOld } from "../hooks/use-is-old.ts";
import { useNow } from "../hooks/use-now.ts";

interface FreshnessProps {
  /** The answer on the screen. */
  of: Seen;
  /** The pause between two of its refreshes. */
  everyMs: number;
  /** Asks again. Without it the view refreshes by itself, which can be paused. */
  refresh?: (() => void) | undefined;
}

/** How old a view is, and the button that changes it. */
export function Freshness({ of, everyMs, refresh }: FreshnessProps) {
  const now = useNow();
  const { isLive, toggle } = useLive();
  const isOld = useIsOld(of, everyMs);
  const isPaused = refresh === undefined && !isLive;
  const at = of.dataUpdatedAt;
  return (
    <p className="refresh faint">
      {at === 0 ? null : isOld ? (
        <span>Refreshing …</span>
      ) : (
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
