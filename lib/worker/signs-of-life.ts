import type { Clock } from "../clock.ts";
import type { Sql } from "../db/connect.ts";
import { jobId } from "../job/job-id.ts";
import { errorText } from "../log/error-text.ts";
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
  // Made when somebody asks: a parcel of 250 quick deliveries asks for none.
  const stops = new Map<string, AbortController>();
  let own: ReadonlySet<string> | undefined;
  const reasons = new Map<string, AttemptStopped>();
  let lost: AttemptStopped | undefined;
  const over = new AbortController();
  const beat = async (lease: number) => {
    for (;;) {
      await clock.sleep(beatMs, over.signal);
      if (over.signal.aborted) return;
      try {
        const { held, cancelled } = await beatParcel(sql, parcel, lease);
        for (const job of cancelled) cancel(jobId(job));
        if (!held) return stopAll();
      } catch (error) {
        // The lease may outlive the fault; whether it did, the settle will say.
        log.warn("worker.beat-failed", { parcel: parcel.id, error: errorText(error) });
      }
    }
  };
  const cancel = (id: string) => {
    const reason = reasons.get(id) ?? new AttemptStopped("cancelled", "The job was cancelled.");
    reasons.set(id, reason);
    stops.get(id)?.abort(reason);
  };
  const stopAll = () => {
    lost = new AttemptStopped("lease-lost", "The lease was lost: another worker has the job.");
    for (const stop of stops.values()) stop.abort(lost);
  };
  if (leaseMs !== null) void beat(leaseMs);
  return {
    signalOf: (job) => {
      const id = jobId(job);
      const known = stops.get(id);
      if (known !== undefined) return known.signal;
      own ??= new Set(parcel.jobs.map(jobId));
      if (!own.has(id)) throw new Error(`Job ${id} is not of this parcel.`);
      const stop = new AbortController();
      stops.set(id, stop);
      const reason = reasons.get(id) ?? lost;
      if (reason !== undefined) stop.abort(reason);
      return stop.signal;
    },
    end: () => over.abort(),
  };
}
