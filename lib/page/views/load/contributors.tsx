import { Link } from "@tanstack/react-router";
import type { Forecast } from "../../../client/forecast.ts";
import { numberText } from "../../data/amounts.ts";
import { MinuteLink } from "../../parts/minute-link.tsx";
import { Panel } from "../../parts/panel.tsx";

interface ContributorsProps {
  forecast: Forecast;
  /** The schedules that are looked at. */
  prefix: string | undefined;
}

/** The busiest minutes with what makes them, and the largest contributors of the whole time. */
export function Contributors({ forecast, prefix }: ContributorsProps) {
  const { heaviest, by, total } = forecast;
  return (
    <div className="two">
      <Panel title="Busiest minutes">
        <ol className="groups parts">
          {heaviest.map(({ at, fires, most }) => (
            <li key={at}>
              <b>{numberText(fires)}</b>
              <p>
                <MinuteLink at={at} prefix={prefix} />{" "}
                <span className="quiet">
                  {most
                    .slice(0, 3)
                    .map(
                      ({ when, kind, owner, fires: part }) =>
                        `${numberText(part)} of ${when ?? (kind === "release" ? `the hold of ${owner}` : "single times")}`,
                    )
                    .join(", ")}
                </span>
              </p>
            </li>
          ))}
        </ol>
      </Panel>
      <Panel title="Largest parts" note={`of ${numberText(total)} runs`}>
        <ol className="groups parts">
          {by.map(({ name, fires }) => (
            <li key={name ?? ""}>
              <b>{numberText(fires)}</b>
              <p>
                {name === null ? (
                  <span className="quiet">the rest</span>
                ) : (
                  <Link to="/schedules" search={{ prefix: name }} className="mono">
                    {name}
                  </Link>
                )}
              </p>
            </li>
          ))}
        </ol>
      </Panel>
    </div>
  );
}
