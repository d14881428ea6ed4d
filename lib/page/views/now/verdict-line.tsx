import type { Problems, Stats } from "../../../client/stats.ts";
import { numberText, relativeText, spanText } from "../../data/amounts.ts";
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
        {headline}
        {verdict === "on-time" && problems.length > 0
          ? `, but ${problems.length === 1 ? "1 problem needs" : `${problems.length} problems need`} attention`
          : ""}
      </h1>
      <p className="quiet">
        {rest === "" ? stats && punctualText(stats) : <Sentence text={rest} />}
        {tick === undefined || tick === null
          ? null
          : ` The last tick was ${relativeText(Date.parse(tick), now)}.`}
      </p>
      <Freshness at={at} />
    </div>
  );
}

/** As the guarantee says: a job starts within a second after its due time. */
const lateMs = 1_000;
/** The resolution of the figures. */
const stepMs = 100;
const minuteMs = 60_000;

/** `99 of 100 jobs of the last 5 minutes started within 0.3 s.` */
function punctualText({ asOf, lastMinutes }: Stats): string {
  const { jobs, p99Ms } = lastMinutes?.lateness ?? { jobs: 0, p99Ms: null };
  const minutes =
    lastMinutes === null ? 0 : Math.round((Date.parse(asOf) - Date.parse(lastMinutes.from)) / minuteMs);
  if (minutes === 0) return "";
  if (jobs === 0 || p99Ms === null) return `No job has started in the last ${minutes} minutes.`;
  if (p99Ms > lateMs)
    return `Jobs of the last ${minutes} minutes started up to ${spanText(p99Ms)} late (99 of 100); none is late now.`;
  const part = jobs < 100 ? `All ${numberText(jobs)} jobs` : "99 of 100 jobs";
  return `${part} of the last ${minutes} minutes started within ${spanText(Math.max(stepMs, p99Ms))}.`;
}
