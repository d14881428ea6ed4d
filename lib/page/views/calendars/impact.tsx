import { Link } from "@tanstack/react-router";
import type { CalendarPreview } from "../../../client/calendars.ts";
import { numberText } from "../../data/amounts.ts";
import { Panel } from "../../parts/panel.tsx";
import { MovedInstants, movesOf } from "../../parts/time/moved-instants.tsx";
import { usedText } from "./used-text.ts";

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
            <MovedInstants label={`The next runs of ${key}`} changes={movesOf(before, after).changes} />
          </section>
        ))}
      </div>
    </Panel>
  );
}
