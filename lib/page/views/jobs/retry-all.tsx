import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { JobsDryRun, RetryFilter } from "../../../client/job.ts";
import { amountText, numberText } from "../../data/amounts.ts";
import { useMay } from "../../data/token-query.ts";
import { useRefreshMs } from "../../hooks/live.tsx";
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
  const [retried, setRetried] = useState<Retried | null>(null);
  const [asOf, setAsOf] = useState<string>();
  if (!useMay("retryJobs")) return null;
  const follow = retried === null ? undefined : <Aftermath {...retried} />;
  return (
    <>
      {follow}
      <Confirm<JobsDryRun>
        next={follow}
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
          // The errors of the list change with the retry, and with them this search.
          const search = afterwards;
          // Jobs that died after the count were not confirmed.
          const counted = filter.state === "cancelled" ? filter : { ...filter, to: filter.to ?? asOf };
          let done = 0;
          let failed = 0;
          let cursor: string | undefined;
          do {
            const part = await carillon.jobs.retryMany(counted, {
              cursor,
              ...(reason === "" ? {} : { reason }),
            });
            done += part.done;
            failed += part.failed;
            cursor = part.cursor;
            progress(`${numberText(done)} jobs retried …`);
          } while (cursor !== undefined);
          if (done > 0) setRetried({ search, asOf });
          return `${amountText({ count: done, more: false }, "job is", "jobs are")} retried.${failed === 0 ? "" : ` ${numberText(failed)} could not be: their rows are locked or cannot be written.`}`;
        }}
      />
    </>
  );
}

interface Retried {
  search: JobSearch;
  /** The time of the count before the retry. */
  asOf: string | undefined;
}

const countMs = 2_000;

/** Leads to the retried jobs, and counts those of the same schedules or target that have died since. */
function Aftermath({ search, asOf }: Retried) {
  const { carillon } = useSession();
  const { key, prefix, tag, group, target } = search;
  const dead = { key, prefix, tag, group, target, state: "dead", from: asOf } as const;
  const died = useQuery({
    queryKey: ["died since", dead],
    queryFn: ({ signal }) => carillon.jobs.retryDryRun(dead, { signal }),
    refetchInterval: useRefreshMs(countMs),
    enabled: asOf !== undefined,
  });
  return (
    <>
      <span role="status">
        {died.data?.count === 0 ? "None has died since." : null}
        {died.data === undefined || died.data.count === 0 ? null : (
          <Link to="/jobs" search={dead} className="link">
            {amountText(died.data, "job has", "jobs have")} died since
          </Link>
        )}
      </span>
      <Link to="/jobs" search={search} className="button">
        See what became of them
      </Link>
    </>
  );
}
