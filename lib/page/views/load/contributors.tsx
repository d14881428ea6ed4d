import { Link } from "@tanstack/react-router";
import type { Forecast } from "../../../client/forecast.ts";
import { numberText } from "../../data/amounts.ts";
import { partText } from "../../data/load/part-text.ts";
import { aheadText, runsText } from "../../data/load/planned-text.ts";
import { Panel } from "../../parts/panel.tsx";
import type { By } from "./load-search.ts";
import { PlannedMinute } from "./planned-minute.tsx";

type PartKind = "prefix" | By;

interface ContributorsProps {
  forecast: Forecast;
  /** The schedules that are looked at. */
  prefix: string | undefined;
  /** The names of the largest parts. */
  by: PartKind;
}

/** The busiest minutes with what makes them, and the largest contributors of the whole time. */
export function Contributors({ forecast, prefix, by }: ContributorsProps) {
  const { heaviest, by: parts, total } = forecast;
  if (total === 0) return null;
  const estimates = forecast.exact ? "" : "estimates, ";
  return (
    <div className="two">
      <Panel
        title="Busiest minutes"
        note={`${estimates}of ${aheadText(forecast.minutes.length)}, held runs left out, moved by their spreads`}
      >
        <ol className="groups parts">
          {heaviest.map(({ at, fires, most }) => (
            <li key={at}>
              <b>{numberText(fires)}</b>
              <p>
                <PlannedMinute at={at} prefix={prefix} />{" "}
                <span className="quiet">{most.slice(0, 3).map(partText).join(", ")}</span>
              </p>
            </li>
          ))}
        </ol>
      </Panel>
      <Panel title="Largest parts" note={`${estimates}of ${runsText(total, forecast.exact)}`}>
        <ol className="groups parts">
          {parts.map(({ name, fires }) => (
            <li key={name ?? ""}>
              <b>{numberText(fires)}</b>
              <p>
                {name === null ? <span className="quiet">the rest</span> : <PartLink by={by} name={name} />}
              </p>
            </li>
          ))}
        </ol>
      </Panel>
    </div>
  );
}

function PartLink({ by, name }: { by: PartKind; name: string }) {
  if (by === "key")
    return (
      <Link to="/schedules/$key" params={{ key: name }} className="mono">
        {name}
      </Link>
    );
  return (
    <Link to="/schedules" search={{ [by]: name }} className="mono">
      {name}
    </Link>
  );
}
