import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Forecast } from "../../../client/forecast.ts";
import type { Counts, Stats } from "../../../client/stats.ts";
import { countText, numberText, spanText } from "../../data/amounts.ts";
import { MinuteLink } from "../../parts/minute-link.tsx";

/** Six figures, each with a sentence. */
export function Facts({ stats, forecast }: { stats: Stats | undefined; forecast: Forecast | undefined }) {
  const heaviest = forecast?.heaviest[0];
  const lateness = (stats?.lastMinutes ?? stats?.lastHour)?.lateness;
  return (
    <dl className="facts">
      <Fact figure={stats && numberText(stats.schedules.active)} look="plain">
        active schedules of {stats ? numberText(stats.schedules.total) : "…"}
      </Fact>
      <Fact figure={stats && numberText(perMinute(stats.lastHour))} look="plain">
        runs a minute, last hour
      </Fact>
      <Fact
        figure={stats && (lateness?.p99Ms == null ? "–" : spanText(lateness.p99Ms))}
        look={(lateness?.p99Ms ?? 0) > lateMs ? "warn" : "plain"}
      >
        late at most, 99 of 100 runs
      </Fact>
      <Fact
        figure={stats && countText(stats.jobs.dead)}
        look={stats && stats.jobs.dead.count > 0 ? "bad" : "plain"}
      >
        <Link to="/jobs" search={{ state: "dead" }}>
          dead jobs
        </Link>
      </Fact>
      <Fact figure={stats && numberText(stats.schedules.paused)} look="plain">
        <Link to="/schedules" search={{ state: "paused" }}>
          schedules held
        </Link>
      </Fact>
      <Fact
        figure={heaviest && numberText(heaviest.fires)}
        look={heaviest?.beyond === true ? "warn" : "plain"}
      >
        runs in the busiest minute ahead
        {heaviest === undefined ? null : (
          <>
            , <MinuteLink at={heaviest.at} />
          </>
        )}
      </Fact>
    </dl>
  );
}

/** As the guarantee says: a job starts within a second after its due time. */
const lateMs = 1_000;

function perMinute(counts: Counts | null): number {
  return Math.round(((counts?.succeeded ?? 0) + (counts?.failed ?? 0)) / 60);
}

interface FactProps {
  figure: string | undefined;
  look: "plain" | "warn" | "bad" | undefined;
  children: ReactNode;
}

function Fact({ figure, look, children }: FactProps) {
  return (
    <div className={look}>
      <dt>{children}</dt>
      <dd>{figure ?? "…"}</dd>
    </div>
  );
}
