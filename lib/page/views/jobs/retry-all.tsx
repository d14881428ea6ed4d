import type { JobsDryRun, RetryFilter } from "../../../client/job.ts";
import { amountText } from "../../data/amounts.ts";
import { entriesMax, progressText, retriedText, retryInParts } from "../../data/bulk/retry-parts.ts";
import { useMay } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Confirm } from "../../parts/dialog/confirm.tsx";
import { StatesOfEntries } from "./states-of-entries.tsx";

interface RetryAllProps {
  filter: RetryFilter;
  /** The list shows that no job matches. */
  isNone: boolean;
  /** The entries of the audit that the last retry of this view has written. */
  retried: readonly string[];
  onRetried(entries: readonly string[]): void;
}

/** Retries all jobs that a filter selects, after the server has counted them. */
export function RetryAll({ filter, isNone, retried, onRetried }: RetryAllProps) {
  const { carillon } = useSession();
  if (!useMay("retryJobs")) return null;
  return (
    <Confirm<JobsDryRun>
      outcome={retried.length === 0 ? undefined : <StatesOfEntries entries={retried} chosen={undefined} />}
      isDisabled={isNone}
      button="Retry all that match …"
      title="Retry these jobs?"
      previewKey={["retry", filter]}
      preview={(signal) => carillon.jobs.retryDryRun(filter, { signal })}
      describe={(preview) => (
        <>
          <p>
            <b>{amountText(preview, "job starts", "jobs start")}</b> again at once, with all attempts of the
            retry policy. Schedules are not changed.
          </p>
          {preview.samples.length < preview.count || preview.more ? <p>Some of them:</p> : null}
          <ul>
            {preview.samples.map(({ id, key, error }) => (
              <li key={id}>
                <span className="mono">{key}</span>
                {error === null ? "" : `: ${error}`}
              </li>
            ))}
          </ul>
        </>
      )}
      verb={(preview) => (preview.count === 0 ? null : `Retry ${amountText(preview, "job")}`)}
      isStoppable
      act={async ({ reason, seen, progress, isStopped }) => {
        // Jobs that died after the count were not confirmed.
        const asked = filter.state === "cancelled" ? filter : { ...filter, to: filter.to ?? seen.asOf };
        const entries: string[] = [];
        const told = (done: number) =>
          progress({
            text: progressText(done, seen),
            share: seen.more ? undefined : { done, of: seen.count },
          });
        told(0);
        try {
          const retriedNow = await retryInParts({
            counted: seen,
            call: (part) => carillon.jobs.retryMany(asked, { ...part, ...(reason === "" ? {} : { reason }) }),
            onPart: (done, entry) => {
              if (entry !== null) entries.push(entry);
              told(done);
            },
            isStopped,
          });
          return retriedText(retriedNow, seen);
        } finally {
          // Also after a failure: what was retried until then is followed.
          onRetried(entries.slice(-entriesMax));
        }
      }}
    />
  );
}
