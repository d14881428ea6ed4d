import type { Measured } from "../log/metrics.ts";
import type { ClaimedParcel } from "../parcel/claim.ts";
import type { Settlement } from "../parcel/settle.ts";
import type { PulsesWorked } from "../pulse/settle-pulses.ts";

/** The counts of the parcels of one invocation. */
export interface MeasuredWork {
  settled(
    parcel: Pick<ClaimedParcel, "claimedAt" | "jobs">,
    settlements: readonly (Settlement | null)[],
  ): void;
  /**
   * `taken`: pulses that targets took, with their lateness. `failed`: pulses that may be retried.
   * `lost`: pulses that are given up.
   */
  pulses(sent: { taken: PulsesWorked["taken"]; failed: number; lost: number }): void;
  /** Empty if nothing was claimed. */
  measured(): Measured;
}

export function measuredWork(): MeasuredWork {
  const count = { Claimed: 0, Succeeded: 0, Failed: 0, Dead: 0 };
  const LatenessMs: number[] = [];
  const pulses = { Pulses: 0, PulsesFailed: 0, PulsesLost: 0 };
  const PulseLatenessMs: number[] = [];
  return {
    settled: ({ claimedAt, jobs }, settlements) => {
      count.Claimed += jobs.length;
      for (const [index, job] of jobs.entries()) {
        const kind = settlements[index]?.kind ?? "succeeded";
        if (kind === "succeeded" || kind === "again") count.Succeeded += 1;
        if (kind === "retry" || kind === "dead") count.Failed += 1;
        if (kind === "dead") count.Dead += 1;
        // Only the first attempt counts as late. Jobs of a backfill do not count, since they were
        // due long before they were made.
        if (job.attempt === 0 && kind !== "back" && job.kind !== "backfill")
          LatenessMs.push(Math.max(0, claimedAt.getTime() - job.dueAt.getTime()));
      }
    },
    pulses: ({ taken, failed, lost }) => {
      for (const each of taken) {
        pulses.Pulses += each.pulses;
        PulseLatenessMs.push(each.lateMs);
      }
      pulses.PulsesFailed += failed;
      pulses.PulsesLost += lost;
    },
    measured: () => ({
      ...(count.Claimed === 0 ? {} : { ...count, LatenessMs }),
      ...(Object.values(pulses).every((many) => many === 0) ? {} : { ...pulses, PulseLatenessMs }),
    }),
  };
}
