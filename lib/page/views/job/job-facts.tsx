import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Job } from "../../../client/job.ts";
import { isNotFound } from "../../../client/request/problem.ts";
import type { Schedule } from "../../../client/schedule.ts";
import { targetText } from "../../data/document/target-text.ts";
import { scheduleQuery } from "../../data/one-schedule-queries.ts";
import { stateWord } from "../../data/outcomes.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Instant } from "../../parts/time/instant.tsx";

/** Where the job goes, when it is due, and at which attempt it is. */
export function JobFacts({ job }: { job: Job }) {
  const { carillon } = useSession();
  const schedule = useQuery(scheduleQuery(carillon, job.key));
  const isMoved = Date.parse(job.dueAt) !== Date.parse(job.occurrence);
  return (
    <dl className="definition">
      <div>
        <dt>Target</dt>
        <dd>
          {schedule.data === undefined ? (
            <span className="quiet" aria-busy={schedule.isPending}>
              {schedule.isPending ? "…" : `not known: ${unknownText(schedule.error)}`}
            </span>
          ) : (
            <TargetOf schedule={schedule.data} job={job} />
          )}
        </dd>
      </div>
      <div>
        <dt>Due</dt>
        <dd>
          <Instant at={job.dueAt} of={job.key} search={job.occurrence} as="exact" />
          {isMoved ? (
            <span className="quiet">
              {" "}
              for the occurrence of <Instant at={job.occurrence} as="exact" />
            </span>
          ) : null}
        </dd>
      </div>
      <div>
        <dt>Attempt</dt>
        <dd>{attemptText(job, schedule.data?.retry.attempts)}</dd>
      </div>
      {job.recheckOf === null ? null : (
        <div>
          <dt>Recheck</dt>
          <dd>
            {job.checks} of the job{" "}
            <Link className="link mono" to="/jobs/$id" params={{ id: job.recheckOf }}>
              {job.recheckOf}
            </Link>
          </dd>
        </div>
      )}
    </dl>
  );
}

/** A job runs with the values that its schedule has at its start, which an edit may have changed since. */
function TargetOf({ schedule: { target, version }, job }: { schedule: Schedule; job: Job }) {
  return (
    <>
      <span className="mono">{target === null ? "cannot be read" : targetText(target)}</span>
      {version === job.version ? null : (
        <span className="quiet">
          {" "}
          in version {version} of the schedule; the job was made by version {job.version}
        </span>
      )}
    </>
  );
}

const unknownText = (error: Error | null) =>
  isNotFound(error) ? "it is read from the schedule, which is deleted" : "its schedule could not be read";

/** A manual retry gives a job all attempts again, so it may have had more than its policy says. */
function attemptText({ attempt, state, reason }: Job, most: number | undefined): string {
  const now = state === "running" ? attempt + 1 : attempt;
  if (now === 0 && (state === "skipped" || state === "cancelled"))
    return `none: it was ${stateWord({ state, reason })}`;
  if (now === 0) return most === undefined ? "none yet" : `none yet, of at most ${most}`;
  if (most === undefined) return `${now}`;
  return now > most ? `${now}, retried beyond its ${most}` : `${now} of ${most}`;
}
