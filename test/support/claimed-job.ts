import type { ClaimedJob } from "../../lib/parcel/claimed-job.ts";
import type { Target } from "../../lib/schedule/shape/target-shape.ts";
import { at } from "./instants.ts";

/** A job as a claim returns it, for the schedule `7`. A handler takes the jobs of its group together. */
export function claimedJob<Own extends Target>(
  target: Own,
  parts: Partial<Omit<ClaimedJob, "target">> = {},
): ClaimedJob & { target: Own } {
  return {
    scheduleId: "7",
    occurrence: at(0),
    kind: "cadence",
    n: 0,
    dueAt: at(0),
    attempt: 0,
    plannedVersion: 1,
    version: 1,
    key: "order:1",
    group: null,
    lane: "handler" in target && parts.group ? `grouped/${target.handler}/${parts.group}` : null,
    team: null,
    checks: 0,
    forgiven: 0,
    origin: null,
    target,
    payload: { n: 1 },
    retry: { attempts: 5, backoff: "exponential", base: "10s", max: "1h", jitter: "full" },
    timeout: "30s",
    ...parts,
  };
}
