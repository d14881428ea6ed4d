import { Link } from "@tanstack/react-router";
import type { JobSummary } from "../../../client/job.ts";
import { outcomeOfState } from "../../data/outcomes.ts";
import { waitText } from "../../data/reason-words.ts";
import { OutcomeWord } from "../../parts/outcome-mark.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Instant } from "../../parts/time/instant.tsx";

const shownMax = 20;

interface GroupJobsProps {
  group: string;
  jobs: readonly JobSummary[];
  hasMore: boolean;
}

/** The jobs that are not settled, and what each waits for. */
export function GroupJobs({ group, jobs, hasMore }: GroupJobsProps) {
  if (jobs.length === 0) return null;
  return (
    <Panel title="Open jobs" note="the earliest due first">
      <ul className="entries">
        {jobs.slice(0, shownMax).map(({ id, key, state, dueAt, occurrence, waitsFor }) => (
          <li key={id}>
            <span className="open-job">
              <OutcomeWord outcome={outcomeOfState(state)} />
              <Link to="/jobs/$id" params={{ id }} className="mono">
                {key}
              </Link>
            </span>
            <span className="quiet">
              due <Instant at={dueAt} of={key} search={occurrence} />
              {waitsFor === null ? "" : `, ${waitText(waitsFor)}`}
            </span>
          </li>
        ))}
      </ul>
      {jobs.length > shownMax || hasMore ? (
        <p className="older">
          <Link to="/jobs" search={{ group, state: "waiting" }} className="link">
            Show all waiting jobs
          </Link>
        </p>
      ) : null}
    </Panel>
  );
}
