import { Link } from "@tanstack/react-router";
import type { Strip } from "../../../client/agenda.ts";
import { spanText } from "../../data/amounts.ts";
import { Instant } from "../../parts/instant.tsx";
import { OutcomeWord } from "../../parts/outcome-mark.tsx";
import { Panel } from "../../parts/panel.tsx";

/** Past occurrences, newest first: those that did not run too. */
export function PastRuns({ name, strip }: { name: string; strip: Strip | undefined }) {
  return (
    <Panel title="Past occurrences" note="the last week, newest first">
      {strip?.items.length === 0 ? <p className="rows-none">None in the last week.</p> : null}
      <ol className="past">
        {strip?.items.map(({ occurrence, kind, outcome, reason, latenessMs, durationMs, job, note }) => (
          <li key={`${occurrence} ${kind} ${job}`}>
            <Instant at={occurrence} of={name} />
            <OutcomeWord outcome={outcome} />
            <span className="quiet">
              {[
                latenessMs !== null && latenessMs > 1_000 ? `${spanText(latenessMs)} late` : null,
                durationMs === null ? null : `took ${spanText(durationMs)}`,
                outcome === "skipped" ? reason : null,
                note,
              ]
                .filter((part) => part !== null)
                .join(", ")}
            </span>
            {job === null ? (
              <span />
            ) : (
              <Link className="link" to="/jobs/$id" params={{ id: job }}>
                job
              </Link>
            )}
          </li>
        ))}
      </ol>
    </Panel>
  );
}
