import type { Clock } from "../clock.ts";
import type { Sql } from "../db/connect.ts";
import { jobId } from "../job/job-id.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import { beatParcel } from "../parcel/beat.ts";
import type { ClaimedParcel } from "../parcel/claim.ts";
import type { ClaimedJob } from "../parcel/claimed-job.ts";
import { AttemptStopped, Stop } from "../target/stop.ts";

/** How soon a running handler learns that its job is cancelled, or that its lease is gone. */
const beatMs = 1_000;

/** A prepared reason: without one each abort makes an error, with its stack. */
export const workOver = "The work on the parcel is over.";

/** The stops of the jobs of a parcel while it is worked. */
export interface Life {
  stopOf(job: ClaimedJob): Stop;
  end(): void;
}

/**
 * While a parcel is worked, renews its lease every second and stops cancelled jobs. Without
 * `leaseMs` the lease is long enough by itself.
 */
export function signsOfLife(
  { sql, clock, log }: { sql: Sql; clock: Clock; log: Log },
  parcel: ClaimedParcel,
  leaseMs: number | null,
): Life {
  // Made on first use: a parcel of messages and events needs none.
  let stops: ReadonlyMap<ClaimedJob, Stop> | undefined;
  const allStops = () => {
    stops ??= new Map(parcel.jobs.map((job) => [job, new Stop()]));
    return stops;
  };
  const over = new AbortController();
  const beat = async (lease: number) => {
    for (;;) {
      await clock.sleep(beatMs, over.signal);
      if (over.signal.aborted) return;
      try {
        const { held, cancelled } = await beatParcel(sql, parcel, lease);
        cancel(new Set(cancelled.map(jobId)));
        if (!held) return stopAll();
      } catch (error) {
        // The lease may outlive the fault. The settle finds out whether it did.
        log.warn("worker.beat-failed", { parcel: parcel.id, error: errorText(error) });
      }
    }
  };
  const cancel = (ids: ReadonlySet<string>) => {
    if (ids.size === 0) return;
    for (const [job, stop] of allStops())
      if (ids.has(jobId(job))) stop.come(new AttemptStopped("cancelled", "The job was cancelled."));
  };
  const stopAll = () => {
    const lost = new AttemptStopped("lease-lost", "The lease was lost: another worker has the job.");
    for (const stop of allStops().values()) stop.come(lost);
  };
  if (leaseMs !== null) void beat(leaseMs);
  return {
    stopOf: (job) => {
      const stop = allStops().get(job) ?? stopById(allStops(), jobId(job));
      if (stop === undefined) throw new Error(`Job ${jobId(job)} does not belong to this parcel.`);
      return stop;
    },
    end: () => over.abort(workOver),
  };
}

/** Finds a job by its id, since the deliverer may have made a copy of it. */
function stopById(stops: ReadonlyMap<ClaimedJob, Stop>, id: string): Stop | undefined {
  for (const [job, stop] of stops) if (jobId(job) === id) return stop;
  return undefined;
}
