import { isoInstant } from "../cadence/zone/civil.ts";
import type { ParcelTimes } from "../job/read-attempts.ts";
import type { JobRead } from "../job/read-job.ts";
import type { Outage, OutageKind } from "../parcel/outages.ts";
import { missedAfterMs } from "../plan/shard.ts";
import type { Facts, LateCause, VersionFact } from "./verdict.ts";

/** A step that comes within this time after the due time has delayed nothing. */
const inTimeMs = 1_000;

/** The part of Carillon at which the time of a late job was lost. */
export interface Lost {
  because: LateCause;
  /** Text after "because". */
  why: string;
  outage?: Outage;
}

interface Span {
  from: number;
  to: number;
}

/**
 * A worker that leaves a job for this long is away. The tick would note an outage of the workers, if
 * one ran.
 */
const awayMs = 60_000;

/**
 * The outage of the tick in which the workers were away too: the job was made and sent in time, and
 * was claimed only after the outage, or late within it.
 */
function outageOfAll({ outages }: Facts, { from: due, to: claimed }: Span): Outage | undefined {
  return outages.find(({ what, from, to }) => {
    if (what !== "tick" || from.getTime() >= claimed) return false;
    if (to !== null && to.getTime() <= claimed) return to.getTime() > due;
    return claimed - Math.max(due, from.getTime()) > awayMs;
  });
}

/** The first outage of these kinds that covers a part of a span. */
export function outageIn(
  { outages }: Facts,
  kinds: readonly OutageKind[],
  { from, to }: Span,
): Outage | undefined {
  return outages.find(
    (each) =>
      kinds.includes(each.what) && each.from.getTime() < to && (each.to === null || each.to.getTime() > from),
  );
}

const words: Readonly<Record<OutageKind, string>> = {
  tick: "no tick ran",
  database: "the database could not be reached",
  "fast-workers": "no worker of the fast queue claimed a job",
  "slow-workers": "no worker of the slow queue claimed a job",
};

const causes: Readonly<Record<OutageKind, LateCause>> = {
  tick: "tick",
  database: "database",
  "fast-workers": "worker",
  "slow-workers": "worker",
};

/** `no tick ran from 2026-03-02T10:00:00Z to 2026-03-02T10:06:00Z` and the like. */
export function outageText({ what, from, to }: Outage): string {
  const since = isoInstant(from.getTime());
  if (to === null) return `${words[what]} since ${since}`;
  return `${words[what]} from ${since} to ${isoInstant(to.getTime())}`;
}

function lostIn(outage: Outage, more = ""): Lost {
  return { because: causes[outage.what], why: `${outageText(outage)}${more}`, outage };
}

const planning: readonly OutageKind[] = ["tick", "database"];
const working: readonly OutageKind[] = ["fast-workers", "slow-workers", "database"];

/**
 * Where the time of a late job was lost, by the times of its first attempt and the ledger of
 * outages. An outage comes first: it has one cause for all occurrences that it delayed, whatever
 * they waited for in its wake. Null if the times do not tell.
 */
export function lostTime(
  facts: Facts,
  job: JobRead,
  version: VersionFact | undefined,
  span: Span,
): Lost | null {
  const times = job.attempts?.[0] ?? job.current ?? null;
  const planned = times?.plannedAt?.getTime();
  if (times === null || planned === undefined) {
    const outage = outageIn(facts, [...planning, ...working], span);
    return outage === undefined ? null : lostIn(outage);
  }
  if (planned > span.from + inTimeMs) return madeLate(facts, version, planned, span);
  return claimedLate(facts, version, times, span);
}

function claimedLate(
  facts: Facts,
  version: VersionFact | undefined,
  { sentAt, waitedSince, queue, target }: ParcelTimes,
  { from: due, to: started }: Span,
): Lost | null {
  const isSentLate = sentAt !== null && sentAt.getTime() > due + inTimeMs && waitedSince === null;
  const unsent = isSentLate ? outageIn(facts, planning, { from: due, to: sentAt.getTime() }) : undefined;
  if (unsent !== undefined) return lostIn(unsent);
  const own =
    queue === null ? working : working.filter((kind) => kind === `${queue}-workers` || kind === "database");
  const all = outageOfAll(facts, { from: due, to: waitedSince?.getTime() ?? started });
  const other = outageIn(facts, own, { from: due, to: started });
  const waits = waitedSince !== null && started - waitedSince.getTime() > inTimeMs;
  const turn = `waited for its turn at ${target ?? "its target"}`;
  const then = waits ? `, and then it ${turn}` : "";
  if (all !== undefined && (other === undefined || all.from <= other.from))
    return lostIn(all, `, and no worker claimed it meanwhile${then}`);
  if (other !== undefined) return lostIn(other, then);
  if (waits) return { because: "target", why: `it ${turn} from ${isoInstant(waitedSince.getTime())} on` };
  if (mayPassLane(version)) return null;
  if (isSentLate)
    return { because: "tick", why: `its message was sent only at ${isoInstant(sentAt.getTime())}` };
  return { because: "worker", why: "no worker claimed it earlier" };
}

/** Whether its jobs wait for each other. */
export function mayPassLane(version: VersionFact | undefined): boolean {
  return version?.body.overlap === "queue" || version?.body.serial === true;
}

/** A job that was made late for another reason than an outage: the plan tells more. */
function madeLate(
  facts: Facts,
  version: VersionFact | undefined,
  planned: number,
  { from: due, to: started }: Span,
): Lost | null {
  const outage = outageIn(facts, planning, { from: due, to: planned });
  if (outage === undefined) return null;
  const oneByOne = started - due > missedAfterMs && version?.body.catchUp.policy === "all";
  return lostIn(outage, oneByOne ? ", and missed occurrences run one after the other" : "");
}
