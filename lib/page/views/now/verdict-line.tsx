import type { Outage, Problems, Stats } from "../../../client/stats.ts";
import { relativeText } from "../../data/amounts.ts";
import { isAfterOutage, isLateNow, punctualText } from "../../data/text/lateness-text.ts";
import { type Seen, useIsOld } from "../../hooks/use-is-old.ts";
import { Freshness } from "../../parts/freshness.tsx";
import { NewScheduleLink } from "../../parts/new-schedule-link.tsx";
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
  /** Those of the last hour. */
  outages: readonly Outage[];
  /** The answer with the problems, and the pause between two of its refreshes. */
  seen: Seen;
  everyMs: number;
}

/** The verdict in words, and how old it is. */
export function VerdictLine({
  problems: { verdict, text, problems },
  stats,
  outages,
  seen,
  everyMs,
}: VerdictLineProps) {
  const isOld = useIsOld(seen, everyMs);
  // How it is now is not known while the answer is old, or could not be asked for again.
  const isUnknown = isOld || seen.failureReason !== null;
  // The server's text begins with the verdict: "Late by 3 min. 12 jobs are late …"
  const [, headline = text, rest = ""] = /^(.*?)\.(?:\s+(.*))?$/s.exec(text) ?? [];
  const isLate = stats !== undefined && isLateNow({ problems }, stats);
  const isAgain = verdict === "on-time" && !isLate && stats !== undefined && isAfterOutage(stats, outages);
  const tick = stats?.plan.lastTickAt;
  return (
    <div className="verdict">
      <h1 aria-live="polite">
        <span
          className={`lamp ${isUnknown ? "none" : lookOf(verdict, problems.length)}`}
          aria-hidden="true"
        />
        <span>
          {headline}
          {isAgain ? " again" : null}
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
        {rest === "" ? stats && punctualText(stats, outages, isLate) : <Sentence text={rest} />}
        {isOld || stats === undefined || tick === undefined || tick === null
          ? null
          : ` The last tick was ${relativeText(Date.parse(tick), Date.parse(stats.asOf))}.`}
      </p>
      <span className="verdict-actions">
        <Freshness of={seen} everyMs={everyMs} />
        <NewScheduleLink />
      </span>
    </div>
  );
}
