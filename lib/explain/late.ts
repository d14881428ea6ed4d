import { previousRunBefore } from "../cadence/cadence.ts";
import { describeDuration } from "../cadence/duration.ts";
import { isoInstant } from "../cadence/zone/civil.ts";
import type { JobRead } from "../job/read-job.ts";
import type { Outage } from "../parcel/outages.ts";
import { missedAfterMs } from "../plan/shard.ts";
import { actorText } from "./actor.ts";
import { type HeldSpan, heldAt, holdersText } from "./holds-then.ts";
import { earlyVersion } from "./place.ts";
import type { Facts, HeldBy, LateCause, VersionFact } from "./verdict.ts";
import { lostTime, mayPassLane } from "./where-lost.ts";

/** A job that starts within this time after its due time is on time, as the guarantee says. */
const onTimeMs = 1_000;

export interface Lateness {
  byMs: number;
  because: LateCause;
  /** Text after "because". */
  why: string;
  heldBy?: HeldBy[];
  outage?: Outage;
}

/** How late a job started and, as far as the ledger shows, why. Null if it was on time. */
export function latenessOf(facts: Facts, job: JobRead, version: VersionFact | undefined): Lateness | null {
  const started = job.startedAt?.getTime() ?? facts.now;
  const due = job.dueAt.getTime();
  const byMs = started - due;
  if (byMs <= onTimeMs) return null;
  const hold = holdBetween(facts, due, started);
  if (hold !== null) {
    const end = hold.until === null ? "" : ` until ${isoInstant(hold.until)}`;
    const why = `it was held by ${holdersText(hold.by)}${end}`;
    return { byMs, because: "hold", why, heldBy: hold.by };
  }
  const late = earlyVersion(facts.versions, facts.at);
  if (late !== undefined) {
    const made =
      late.version === 1
        ? "the schedule was created"
        : `version ${late.version}, which added it, was made by ${actorText(late.by)}`;
    return { byMs, because: "edit", why: `${made} only at ${isoInstant(late.at)}` };
  }
  const lost = lostTime(facts, job, version, { from: due, to: started });
  if (lost !== null) {
    const more = lost.outage !== undefined && isCaughtUp(facts, version) ? `, and ${replaces}` : "";
    return { byMs, ...lost, why: `${lost.why}${more}` };
  }
  const ahead = version?.body.overlap === "queue" ? endedBetween(facts, due, started) : undefined;
  if (ahead !== undefined) {
    const why = `it waited in its lane for the run of ${isoInstant(ahead.occurrence.getTime())}`;
    return { byMs, because: "lane", why };
  }
  if (mayPassLane(version)) return { byMs, because: "lane", why: "it waited for its turn in its lane" };
  if (byMs <= missedAfterMs) return { byMs, ...madeOrUnrecorded(job) };
  const policy = version?.body.catchUp.policy;
  // Under `skip`, an occurrence that is planned later than `missedAfterMs` does not run. This one
  // ran, so the worker was late.
  if (policy === "skip") return { byMs, because: "worker", why: "no worker claimed it earlier" };
  if (policy === "all") {
    const why = "it was missed, and missed occurrences run one after the other";
    return { byMs, because: "backlog", why };
  }
  if (isCaughtUp(facts, version))
    return { byMs, because: "tick", why: `it was planned late, and ${replaces}` };
  return { byMs, ...madeOrUnrecorded(job) };
}

function madeOrUnrecorded({ attempts, current }: JobRead): Pick<Lateness, "because" | "why"> {
  const plannedAt = attempts?.[0]?.plannedAt ?? current?.plannedAt ?? null;
  if (plannedAt === null) return { because: "unrecorded", why: unrecorded };
  return { because: "tick", why: `its job was made only at ${isoInstant(plannedAt.getTime())}` };
}

const replaces = "it replaces the missed runs before it";

const unrecorded =
  "the tick that planned it or the worker that ran it was late (the ledger does not record which)";

/** A hold that was in force at the due time, or began before the job started. */
function holdBetween(facts: Facts, due: number, started: number): HeldSpan | null {
  const began = facts.versions.filter(({ held, at }) => held && at >= due && at < started);
  for (const instant of [due, ...began.map(({ at }) => at + 1)]) {
    const span = heldAt(facts, instant);
    if (span !== null && (span.until === null || span.until <= started)) return span;
  }
  return null;
}

/** The last of the earlier runs that ended while this one waited. */
function endedBetween({ around, at }: Facts, due: number, started: number): JobRead | undefined {
  return around.findLast(({ occurrence, finishedAt, state }) => {
    if (occurrence.getTime() >= at || state === "skipped" || finishedAt === null) return false;
    return finishedAt.getTime() > due && finishedAt.getTime() <= started;
  });
}

/**
 * Whether the job runs in place of missed occurrences: the occurrence before it was missed, and
 * `catchUp` is `latest`. Under the other policies each job runs for its own occurrence alone.
 */
function isCaughtUp({ around, at, passedBefore }: Facts, version: VersionFact | undefined): boolean {
  if (version?.body.catchUp.policy !== "latest") return false;
  const neighbour = around.findLast(({ occurrence }) => occurrence.getTime() < at);
  const previous = previousRunBefore(version.cadence, at);
  if (neighbour?.reason === "missed" && neighbour.occurrence.getTime() === previous) return true;
  return passedBefore?.reason === "missed" && passedBefore.to.getTime() === previous;
}

/** The longer the span, the coarser the text. */
export function spanText(ms: number): string {
  const unit = ms < 1_000 ? 1 : ms < 86_400_000 ? 1_000 : 60_000;
  return describeDuration(Math.round(ms / unit) * unit);
}
