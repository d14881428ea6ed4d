import type { Measured } from "../log/metrics.ts";
import type { ClaimedParcel } from "../parcel/claim.ts";
import type { Settlement } from "../parcel/settle.ts";

/** What the parcels of one invocation came to. */
export interface MeasuredWork {
  settled(
    parcel: Pick<ClaimedParcel, "claimedAt" | "jobs">,
    settlements: readonly (Settlement | null)[],
  ): void;
  /** Nothing where nothing was claimed. */
  measured(): Measured;
}

export function measuredWork(): MeasuredWork {
  const count = { Claimed: 0, Succeeded: 0, Failed: 0, Dead: 0 };
  const LatenessMs: number[] = [];
  return {
    settled: ({ claimedAt, jobs }, settlements) => {
      count.Claimed += jobs.length;
      for (const [index, job] of jobs.entries()) {
        const kind = settlements[index]?.kind ?? "succeeded";
        if (kind === "succeeded" || kind === "again") count.Succeeded += 1;
        if (kind === "retry" || kind === "dead") count.Failed += 1;
        if (kind === "dead") count.Dead += 1;
        // Late is whoever starts late at first; what a backfill makes was due long before it was asked for.
        if (job.attempt === 0 && kind !== "back" && job.kind !== "backfill")
          LatenessMs.push(Math.max(0, claimedAt.getTime() - job.dueAt.getTime()));
      }
    },
    measured: () => (count.Claimed === 0 ? {} : { ...count, LatenessMs }),
  };
}
