import { useState } from "react";
import type { JobsDryRun, RetryFilter } from "../../../client/job.ts";
import { amountText, numberText } from "../../data/amounts.ts";
import { useMay } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Confirm } from "../../parts/dialog/confirm.tsx";
import { StatesOfEntries } from "./states-of-entries.tsx";

interface RetryAllProps {
  filter: RetryFilter;
  /** The entries of the audit that the last retry of this view has written. */
  retried: readonly string[];
  onRetried(entries: readonly string[]): void;
}

/** Retries all jobs that a filter selects, after the server has counted them. */
export function RetryAll({ filter, retried, onRetried }: RetryAllProps) {
  const { carillon } = useSession();
  const [asOf, setAsOf] = useState<string>();
  if (!useMay("retryJobs")) return null;
  return (
    <Confirm<JobsDryRun>
      outcome={retried.length === 0 ? undefined : <StatesOfEntries entries={retried} chosen={undefined} />}
      button="Retry all that match …"
      title="Retry these jobs?"
      previewKey={["retry", filter]}
      preview={async (signal) => {
        const counted = await carillon.jobs.retryDryRun(filter, { signal });
        setAsOf(counted.asOf);
        return counted;
      }}
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
      act={async ({ reason, progress }) => {
        // Jobs that died after the count were not confirmed.
        const counted = filter.state === "cancelled" ? filter : { ...filter, to: filter.to ?? asOf };
        let done = 0;
        let failed = 0;
        let cursor: string | undefined;
        const entries: string[] = [];
        do {
          const part = await carillon.jobs.retryMany(counted, {
            cursor,
            limit: jobsOfCall,
            ...(reason === "" ? {} : { reason }),
          });
          done += part.done;
          failed += part.failed;
          if (part.entry !== null) entries.push(part.entry);
          cursor = part.cursor;
          progress(`${numberText(done)} jobs retried …`);
        } while (cursor !== undefined);
        onRetried(entries.slice(-entriesMax));
        return `${amountText({ count: done, more: false }, "job is", "jobs are")} retried.${failed === 0 ? "" : ` ${numberText(failed)} could not be: their rows are locked or cannot be written.`}`;
      }}
    />
  );
}

/** The most that one call retries: each call is an entry of the audit, and few of these are followed. */
const jobsOfCall = 10_000;
const entriesMax = 20;
