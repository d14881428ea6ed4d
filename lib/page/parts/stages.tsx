import type { Attempt, Job } from "../../client/job.ts";
import { spanText } from "../data/amounts.ts";
import { clockText } from "../data/zone.ts";
import { useZone } from "../hooks/use-zone.ts";

interface Stage {
  name: string;
  at: string | null;
}

/** A pause of this length before a stage is marked. */
const slowMs = 1_000;

const stagesOf = (attempt: Attempt): Stage[] => [
  { name: "planned", at: attempt.plannedAt },
  { name: "sent", at: attempt.sentAt },
  { name: "claimed", at: attempt.claimedAt },
  { name: "target began", at: attempt.targetStartedAt },
  { name: "target ended", at: attempt.targetEndedAt },
  { name: "settled", at: attempt.settledAt },
];

/** The attempts of a job, each from its plan to its settling. */
export function Stages({ job }: { job: Job }) {
  const zone = useZone();
  return (
    <ol className="attempts">
      {job.attempts.map((attempt) => (
        <li key={attempt.attempt}>
          {job.attempts.length === 1 ? null : (
            <p className="quiet">
              attempt {attempt.attempt}: {attempt.outcome}
              {attempt.error === null ? "" : `, ${attempt.error}`}
            </p>
          )}
          <ol className="stages">
            {stagesOf(attempt).map(({ name, at }, place, all) => {
              const before = all.slice(0, place).findLast((stage) => stage.at !== null)?.at;
              const waited =
                at === null || before == null
                  ? 0
                  : Date.parse(at) - Math.max(Date.parse(before), Date.parse(job.dueAt));
              // Where a failed attempt ended: the target gave no good answer.
              const hasFailed = name === "target ended" && attempt.outcome !== "succeeded";
              return (
                <li
                  key={name}
                  className={`stage${waited > slowMs ? " slow" : ""}${hasFailed ? " failed" : ""}`}
                >
                  <b>{at === null ? "–" : clockText(Date.parse(at), zone)}</b>
                  {name}
                  {waited > slowMs ? <span> after {spanText(waited)}</span> : null}
                </li>
              );
            })}
          </ol>
        </li>
      ))}
    </ol>
  );
}
