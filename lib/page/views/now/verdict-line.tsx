import type { Problems, Stats } from "../../../client/stats.ts";
import { relativeText } from "../../data/amounts.ts";
import { punctualText } from "../../data/text/lateness-text.ts";
import { useNow } from "../../hooks/use-now.ts";
import { Freshness } from "../../parts/freshness.tsx";
import { Sentence } from "../../parts/sentence.tsx";

const looks: Readonly<Record<Problems["verdict"], string>> = {
  "on-time": "ok",
  late: "warn",
  stopped: "bad",
};

function lookOf(verdict: Problems["verdict"], problems: number): string {
  return verdict === "on-time" && problems > 0 ? "warn" : looks[verdict];
}

interface VerdictLineProps {
  problems: Problems;
  stats: Stats | undefined;
  /** When the problems arrived. */
  at: number;
  /** They could not be asked again: how it is now is not known. */
  isStale: boolean;
}

/** The verdict in words, and how old it is. */
export function VerdictLine({ problems: { verdict, text, problems }, stats, at, isStale }: VerdictLineProps) {
  const now = useNow();
  // The server's text begins with the verdict: "Late by 3 min. 12 jobs are late …"
  const [, headline = text, rest = ""] = /^(.*?)\.(?:\s+(.*))?$/s.exec(text) ?? [];
  const tick = stats?.plan.lastTickAt;
  return (
    <div className="verdict">
      <h1 aria-live="polite">
        <span className={`lamp ${isStale ? "none" : lookOf(verdict, problems.length)}`} aria-hidden="true" />
        <span>
          {headline}
          {verdict === "on-time" && problems.length > 0 ? (
            <>
              , but{" "}
              <b>
                {problems.length === 1 ? "1 problem needs" : `${problems.length} problems need`} attention
              </b>
            </>
          ) : null}
        </span>
      </h1>
      <p className="quiet verdict-text">
        {rest === "" ? stats && punctualText(stats) : <Sentence text={rest} />}
        {tick === undefined || tick === null
          ? null
          : ` The last tick was ${relativeText(Date.parse(tick), now)}.`}
      </p>
      <Freshness at={at} />
    </div>
  );
}
