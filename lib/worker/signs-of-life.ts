import type { Clock } from "../clock.ts";
import type { Sql } from "../db/connect.ts";
import { jobId } from "../job/job-id.ts";
import type { Log } from "../log/log.ts";
import { beatParcel } from "../parcel/beat.ts";
import type { ClaimedJob, ClaimedParcel } from "../parcel/claim.ts";
import { AttemptStopped } from "../target/attempts.ts";

/** How soon a running handler learns that its job is cancelled, or that its lease is gone. */
const beatMs = 1_000;

/** The signals of the jobs of a parcel while it is worked. */
export interface Life {
  signalOf(job: ClaimedJob): AbortSignal;
  end(): void;
}

/**
 * While a parcel is worked its lease goes on from second to second, and who works it learns what is wanted no more. Without `leaseMs` the
 * lease is long enough as it is.
 */
export function signsOfLife(
  { sql, clock, log }: { sql: Sql; clock: Clock; log: Log },
  parcel: ClaimedParcel,
  leaseMs: number | null,
): Life {
  const stops = new Map(parcel.jobs.map((job) => [jobId(job), new AbortController()]));
  const over = new AbortController();
  const beat = async (lease: number) => {
    for (;;) {
      await clock.sleep(beatMs, over.signal);
      if (over.signal.aborted) return;
      try {
        const { held, cancelled } = await beatParcel(sql, parcel, lease);
        for (const job of cancelled) stops.get(jobId(job))?.abort(cancelledReason());
        if (!held) return stopAll();
      } catch (error) {
        // The lease may outlive the fault; whether it did, the settle will say.
        log.warn("worker.beat-failed", { parcel: parcel.id, error: String(error) });
      }
    }
  };
  const stopAll = () => {
    for (const stop of stops.values())
      stop.abort(new AttemptStopped("lease-lost", "The lease was lost: another worker has the job."));
  };
  if (leaseMs !== null) void beat(leaseMs);
  return {
    signalOf: (job) => {
      const stop = stops.get(jobId(job));
      if (stop === undefined) throw new Error(`Job ${jobId(job)} is not of this parcel.`);
      return stop.signal;
    },
    end: () => over.abort(),
  };
}

function cancelledReason(): AttemptStopped {
  return new AttemptStopped("cancelled", "The job was cancelled.");
}
