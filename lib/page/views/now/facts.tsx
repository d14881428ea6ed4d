import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Forecast } from "../../../client/forecast.ts";
import type { Counts, Stats } from "../../../client/stats.ts";
import { countText, numberText, spanText } from "../../data/amounts.ts";
import { lateMs, latenessWords } from "../../data/text/lateness-text.ts";
import { MinuteLink } from "../../parts/time/minute-link.tsx";

/** Six figures, each with a sentence. */
export function Facts({ stats, forecast }: { stats: Stats | undefined; forecast: Forecast | undefined }) {
  const lateness = stats?.lastMinutes?.lateness;
  return (
    <dl className="facts">
      <Fact figure={stats && numberText(stats.schedules.active)} look="plain">
        active schedules of {stats ? numberText(stats.schedules.total) : "…"}
      </Fact>
      <Fact figure={stats && numberText(attemptsOf(stats.lastHour))} look="plain">
        attempts in the last hour{stats && paceText(attemptsOf(stats.lastHour))}
      </Fact>
      <Fact
        figure={stats && (lateness?.p99Ms == null ? "–" : spanText(lateness.p99Ms))}
        look={(lateness?.p99Ms ?? 0) > lateMs ? "warn" : "plain"}
      >
        {latenessWords(stats)}
      </Fact>
      <Fact
        figure={stats && countText(stats.jobs.dead)}
        look={stats && stats.jobs.dead.count > 0 ? "bad" : "plain"}
      >
        <Link to="/jobs" search={{ state: "dead" }}>
          jobs that are dead now
        </Link>
      </Fact>
      <Fact figure={stats && numberText(stats.schedules.paused)} look="plain">
        <Link to="/schedules" search={{ state: "paused" }}>
          schedules held
        </Link>
      </Fact>
      <Busiest forecast={forecast} />
    </dl>
  );
}

function Busiest({ forecast }: { forecast: Forecast | undefined }) {
  const minute = forecast?.heaviest[0];
  if (minute === undefined)
    return (
      <Fact figure={forecast && "0"} look="plain">
        {forecast === undefined ? "runs in the busiest minute of the next hour" : "runs in the next hour"}
      </Fact>
    );
  return (
    <Fact figure={numberText(minute.fires)} look={minute.beyond ? "warn" : "plain"}>
      runs in the busiest minute of the next hour, <MinuteLink at={minute.at} />, moved by their spreads
      {minute.beyond ? "; above the peak of the last day" : null}
    </Fact>
  );
}

/** A job that is retried has several. */
const attemptsOf = (counts: Counts | null) => (counts?.succeeded ?? 0) + (counts?.failed ?? 0);

/** `, 21 a minute`; nothing where that would be less than one. */
function paceText(attempts: number): string {
  const pace = Math.floor(attempts / 60);
  return pace === 0 ? "" : `, ${numberText(pace)} a minute`;
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
