import type { UseQueryResult } from "@tanstack/react-query";
import type { Problems, Stats } from "../../../client/stats.ts";
import { useLive } from "../../app/live.tsx";
import { useNow } from "../../app/use-now.ts";
import { relativeText, spanText } from "../../data/amounts.ts";

const verdicts: Readonly<Record<Problems["verdict"], { word: string; look: string }>> = {
  "on-time": { word: "On time", look: "ok" },
  late: { word: "Late", look: "warn" },
  stopped: { word: "Stopped", look: "bad" },
};

interface VerdictLineProps {
  problems: UseQueryResult<Problems>;
  stats: Stats | undefined;
}

/** The verdict in words, and how old it is. */
export function VerdictLine({ problems: { data, error, dataUpdatedAt }, stats }: VerdictLineProps) {
  const now = useNow();
  const { isLive, toggle } = useLive();
  const verdict = data === undefined ? null : verdicts[data.verdict];
  const tick = stats?.plan.lastTickAt;
  const age = now - dataUpdatedAt;
  return (
    <div className="verdict">
      <h1 aria-live="polite">
        <span className={`lamp ${verdict?.look ?? "none"}`} aria-hidden="true" />
        {verdict?.word ?? (error === null ? "…" : "No answer")}
      </h1>
      <p className="quiet">
        {data?.text}
        {tick === undefined || tick === null
          ? null
          : ` The last tick was ${relativeText(Date.parse(tick), now)}.`}
      </p>
      <p className="refresh faint">
        {dataUpdatedAt === 0 ? null : <span>updated {age < 1_500 ? "now" : `${spanText(age)} ago`}</span>}
        <button type="button" className="text-button" aria-pressed={!isLive} onClick={toggle}>
          {isLive ? "pause" : "resume"}
        </button>
      </p>
    </div>
  );
}
