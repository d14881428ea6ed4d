import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Strip } from "../../../client/agenda.ts";
import { fineSpanText, spanText } from "../../data/amounts.ts";
import { whyText } from "../../data/reason-words.ts";
import { pastOf } from "../../data/run-times.ts";
import { Pending } from "../../parts/answer-state.tsx";
import { OutcomeWord } from "../../parts/outcome-mark.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Instant } from "../../parts/time/instant.tsx";

/** How many are shown at first. */
const firstShown = 12;

interface PastRunsProps {
  name: string;
  strip: Strip | undefined;
  /** The occurrence that the address asks about: it is among those that are shown. */
  explained: string | undefined;
}

/** Past occurrences, newest first: those that did not run too. */
export function PastRuns({ name, strip, explained }: PastRunsProps) {
  const [isWhole, setWhole] = useState(false);
  const items = pastOf(strip?.items ?? []);
  const isExplained = (occurrence: string) =>
    explained !== undefined && Date.parse(occurrence) === Date.parse(explained);
  const shown = Math.max(firstShown, 1 + items.findIndex(({ occurrence }) => isExplained(occurrence)));
  return (
    <Panel title="Past occurrences" note="the last week, newest first">
      {strip === undefined ? <Pending /> : null}
      {strip !== undefined && items.length === 0 ? (
        <p className="rows-none">
          None in the last week. It was created <Instant at={strip.createdAt} />.
        </p>
      ) : null}
      <ol className="past">
        {items
          .slice(0, isWhole ? items.length : shown)
          .map(({ occurrence, kind, outcome, reason, latenessMs, durationMs, job, note }) => (
            <li
              key={`${occurrence} ${kind} ${job}`}
              data-row
              aria-current={isExplained(occurrence) ? "true" : undefined}
            >
              <Instant at={occurrence} of={name} />
              <Link
                className="instant"
                to="/schedules/$key"
                params={{ key: name }}
                search={(before) => ({ ...before, why: occurrence })}
              >
                <OutcomeWord outcome={outcome} reason={reason} />
              </Link>
              <span className="quiet">
                {[
                  kind === "manual" ? "fired by hand" : null,
                  latenessMs !== null && latenessMs > 1_000 ? `${spanText(latenessMs)} late` : null,
                  durationMs === null ? null : `took ${fineSpanText(durationMs)}`,
                  whyText(outcome, reason),
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
      {isWhole || items.length <= shown ? null : (
        <button type="button" className="text-button more-rows" onClick={() => setWhole(true)}>
          Show all {items.length}
        </button>
      )}
    </Panel>
  );
}
