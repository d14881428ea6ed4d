import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { JobsDryRun, RetryFilter } from "../../../client/job.ts";
import { amountText, numberText } from "../../data/amounts.ts";
import { useMay } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Confirm } from "../../parts/dialog/confirm.tsx";
import type { JobSearch } from "./job-search.ts";

interface RetryAllProps {
  filter: RetryFilter;
  /** Finds the jobs once they are retried. */
  afterwards: JobSearch;
}

/** Retries all jobs that a filter selects, after the server has counted them. */
export function RetryAll({ filter, afterwards }: RetryAllProps) {
  const { carillon } = useSession();
  const [retried, setRetried] = useState<JobSearch | null>(null);
  if (!useMay("retryJobs")) return null;
  const follow =
    retried === null ? undefined : (
      <Link to="/jobs" search={retried} className="button">
        See what became of them
      </Link>
    );
  return (
    <>
      {follow}
      <Confirm<JobsDryRun>
        next={follow}
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
        act={async ({ reason, progress }) => {
          // The errors of the list change with the retry, and with them this search.
          const search = afterwards;
          let done = 0;
          let failed = 0;
          let cursor: string | undefined;
          do {
            const part = await carillon.jobs.retryMany(filter, {
              cursor,
              ...(reason === "" ? {} : { reason }),
            });
            done += part.done;
            failed += part.failed;
            cursor = part.cursor;
            progress(`${numberText(done)} jobs retried …`);
          } while (cursor !== undefined);
          if (done > 0) setRetried(search);
          return `${amountText({ count: done, more: false }, "job is", "jobs are")} retried.${failed === 0 ? "" : ` ${numberText(failed)} could not be: their rows are locked or cannot be written.`}`;
        }}
      />
    </>
  );
}
