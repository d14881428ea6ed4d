import { isoInstant } from "../cadence/zone/civil.ts";
import { parseJobId } from "../job/job-id.ts";
import type { JobRead } from "../job/read-job.ts";
import type { Facts, Verdict } from "./verdict.ts";
import { explainJob } from "./with-job.ts";

/** Explains a recheck: its outcome, its run, and its number. */
export function explainRecheck(facts: Facts, recheck: JobRead): Verdict {
  const verdict = explainJob(facts, recheck, undefined);
  return {
    ...verdict,
    sentence: `Is no occurrence but ${nameOf(recheck)}. ${verdict.sentence}${followedText(facts, recheck)}`,
    recheck: {
      of: recheck.recheckOf ?? recheck.id,
      number: recheck.checks,
      followed: followersOf(facts, recheck).length,
    },
  };
}

/** Sentences for rechecks that fall on the instant of an occurrence. */
export function recheckBesideText({ beside }: Facts): string {
  return beside
    .filter(({ kind }) => kind === "again")
    .map((recheck) => ` At the same instant, ${nameOf(recheck)} ${standText(recheck)}.`)
    .join("");
}

/** A sentence about the rechecks that a job led to. */
export function followedText(facts: Facts, job: JobRead): string {
  if (job.state === "succeeded" && job.reason === "superseded")
    return " It requested a recheck, which was dropped because the schedule was edited or deleted before the run ended.";
  const followers = followersOf(facts, job);
  const last = followers.at(-1);
  if (last === undefined) return "";
  const at = isoInstant(last.occurrence.getTime());
  if (followers.length === 1)
    return ` It requested a recheck: recheck ${last.checks}, at ${at}, ${standText(last)}.`;
  return ` It requested a recheck, and ${followers.length} followed: the last, recheck ${last.checks}, at ${at}, ${standText(last)}.`;
}

function followersOf({ chain }: Facts, { checks }: JobRead): JobRead[] {
  return chain.filter((each) => each.checks > checks);
}

function nameOf({ checks, recheckOf }: JobRead): string {
  const root = recheckOf === null ? null : parseJobId(recheckOf);
  if (root === null) return `recheck ${checks}`;
  const run = { cadence: "run", manual: "manual run", backfill: "backfill", again: "recheck" }[root.kind];
  return `recheck ${checks} of the ${run} of ${isoInstant(root.occurrence.getTime())}`;
}

function standText({ state, reason }: JobRead): string {
  switch (state) {
    case "succeeded":
      return "has succeeded";
    case "running":
      return "is running";
    case "waiting":
      return "waits";
    case "retrying":
      return "waits for a retry";
    case "cancelled":
      return reason === "superseded" ? "was cancelled by an edit" : "was cancelled";
    default:
      return `is ${state}`;
  }
}
