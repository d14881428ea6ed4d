import { Link } from "@tanstack/react-router";
import type { CalendarPreview } from "../../../client/calendars.ts";
import { numberText } from "../../data/amounts.ts";
import { Panel } from "../../parts/panel.tsx";
import { Instant } from "../../parts/time/instant.tsx";
import { usedText } from "./used-text.ts";
import "../../look/runs.css";

interface ImpactProps {
  /** Undefined where nothing is changed. */
  preview: CalendarPreview | undefined;
  isStale: boolean;
}

/** The schedules whose runs the change moves, as the server finds them before it is saved. */
export function Impact({ preview, isStale }: ImpactProps) {
  return (
    <Panel title="Whose runs move" note="before it is saved">
      <div className="impact" aria-live="polite" aria-busy={isStale}>
        {preview === undefined ? (
          <p className="quiet">Change a day: the runs that move appear here.</p>
        ) : null}
        {preview === undefined ? null : (
          <p className="sentence">
            {usedText(preview)}.{" "}
            <b>
              {numberText(preview.affected)} of {numberText(preview.looked)} compared
            </b>{" "}
            would run at other times.
          </p>
        )}
        {preview?.samples.map(({ key, timezone, cadence, before, after }) => (
          <section key={key} aria-label={key}>
            <h3>
              <Link to="/schedules/$key" params={{ key }} className="link mono">
                {key}
              </Link>{" "}
              <span className="quiet">
                {cadence}, {timezone}
              </span>
            </h3>
            <div className="run-list">
              <Instants title="Before" runs={before} others={after} look="gone" />
              <Instants title="After" runs={after} others={before} look="new" />
            </div>
          </section>
        ))}
      </div>
    </Panel>
  );
}

interface InstantsProps {
  title: string;
  runs: readonly string[];
  others: readonly string[];
  /** The look of runs that only one of the two lists has. */
  look: "gone" | "new";
}

function Instants({ title, runs, others, look }: InstantsProps) {
  return (
    <div>
      <h3 className="quiet">{title}</h3>
      {runs.length === 0 ? <p className="quiet">none</p> : null}
      <ol>
        {runs.map((at) => {
          const isSame = others.includes(at);
          return (
            <li key={at} className={isSame ? undefined : look}>
              <span className="sign">{isSame ? "" : look === "new" ? "+" : "−"}</span>
              <Instant at={at} />
            </li>
          );
        })}
      </ol>
    </div>
  );
}
