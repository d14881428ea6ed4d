import { isoInstant } from "../cadence/zone/civil.ts";
import type { JobRead } from "../job/read-job.ts";
import { isDueUnderHold, isHeldAt, waitsForHold } from "../schedule/held.ts";
import { actorText, editText } from "./actor.ts";
import { holdersText, standingBy } from "./holds-then.ts";
import { latenessOf, spanText } from "./late.ts";
import { movedAside, movedText } from "./moved.ts";
import { instantText, quote } from "./quoted.ts";
import { requestText } from "./requests.ts";
import { explainSkipped } from "./skipped.ts";
import type { Facts, TravelFact, Verdict, VersionFact } from "./verdict.ts";
import { outageIn, outageText } from "./where-lost.ts";

/** Explains an occurrence that has a job. */
export function explainJob(facts: Facts, job: JobRead, version: VersionFact | undefined): Verdict {
  const verdict = verdictOn(facts, job, version);
  const { retried } = facts.requests;
  if (retried === null) return verdict;
  return { ...verdict, sentence: `${verdict.sentence} It was ${requestText(retried, "retried")}.` };
}

function verdictOn(facts: Facts, job: JobRead, version: VersionFact | undefined): Verdict {
  switch (job.state) {
    case "succeeded":
      return withStart(facts, job, version, {
        outcome: "ran",
        lead: "Ran",
        end: ` and succeeded at ${instantText(job.finishedAt)}${attemptsText(job)}`,
      });
    case "running":
      return withStart(facts, job, version, {
        outcome: "running",
        lead: "Is running",
        end: ` and is not done yet${job.attempt > 0 ? `, at attempt ${job.attempt + 1}` : ""}${stopText(facts)}`,
      });
    case "dead":
      return {
        ...withStart(facts, job, version, {
          outcome: "dead",
          lead: "Ran",
          end: deathText(job),
        }),
        ...(job.reason === null ? {} : { reason: job.reason }),
      };
    case "retrying":
      return explainRetrying(facts, job);
    case "waiting":
      return explainWaiting(facts, job, version);
    case "cancelled":
      return explainCancelled(facts, job);
    case "skipped":
      return explainSkipped(facts, job, version);
  }
}

function withStart(
  facts: Facts,
  job: JobRead,
  version: VersionFact | undefined,
  { outcome, lead, end }: { outcome: Verdict["outcome"]; lead: string; end: string },
): Verdict {
  const started = `due at ${instantText(job.dueAt)}${movedText(moveOf(job, version))}, it started at ${instantText(job.startedAt)}`;
  const late = latenessOf(facts, job, version);
  if (late === null) return { outcome, sentence: `${lead}, on time: ${started}${end}.` };
  const { byMs, because, why, heldBy, outage } = late;
  return {
    outcome,
    sentence: `${lead}, ${spanText(byMs)} late, because ${why}: ${started}${end}.`,
    late: { byMs, because },
    ...(heldBy === undefined ? {} : { heldBy }),
    ...(outage === undefined ? {} : { outage }),
  };
}

/** Only a run of the cadence is moved. */
function moveOf({ kind, occurrence, dueAt }: JobRead, version: VersionFact | undefined) {
  const due = dueAt.getTime();
  return { at: kind === "cadence" ? occurrence.getTime() : due, due, version };
}

function attemptsText({ attempt, attempts = [] }: JobRead): string {
  if (attempt <= 1) return "";
  const failed = attempts.findLast(({ error }) => error !== null);
  return `, at attempt ${attempt}${failed?.error == null ? "" : ` (the one before failed: ${quote(failed.error)})`}`;
}

/** Why a further attempt would not help, for every reason other than `attempts`. */
const finalReasons: Readonly<Record<string, string>> = {
  "gave-up": "it reported that a retry would not help",
  payload: "its handler does not accept its payload",
  "max-checks": "it requested one recheck more than its handler allows",
  "recheck-past": "it requested a recheck at an instant that was not in the future",
  "recheck-far": "it requested a recheck further ahead than its handler allows",
};

function deathText(job: JobRead): string {
  const dead = `and is dead since ${instantText(job.finishedAt)}`;
  const final = finalReasons[job.reason ?? ""];
  if (final !== undefined) return ` ${dead}: ${final}${job.error === null ? "" : ` (${quote(job.error)})`}`;
  return `, failed ${failuresText(job)}, ${dead}: no retry is left`;
}

function failuresText({ attempt, error }: JobRead): string {
  if (attempt === 1) return `once${error === null ? "" : `, with ${quote(error)}`}`;
  return `${attempt} times${error === null ? "" : `, the last time with ${quote(error)}`}`;
}

function errorText({ error }: JobRead): string {
  return error === null ? "" : `, the last with ${quote(error)}`;
}

function explainRetrying(facts: Facts, job: JobRead): Verdict {
  const failed = `Waits for a retry: ${job.attempt === 1 ? "1 attempt" : `${job.attempt} attempts`} failed${errorText(job)}`;
  if (!isHeldAt(facts, facts.now)) {
    const next = job.readyAt === null ? "" : `; the next starts at ${instantText(job.readyAt)}`;
    return { outcome: "retrying", sentence: `${failed}${next}.` };
  }
  const heldBy = standingBy(facts, facts.now);
  return { outcome: "retrying", sentence: `${failed}; it waits, held by ${holdersText(heldBy)}.`, heldBy };
}

function explainWaiting(facts: Facts, job: JobRead, version: VersionFact | undefined): Verdict {
  const due = job.dueAt.getTime();
  const { now, heldUntil, travel } = facts;
  if (waitsForHold(facts, { now, due })) {
    const heldBy = standingBy(facts, Math.max(due, now));
    const end = heldUntil === null ? "until the last hold ends" : `until ${isoInstant(heldUntil)}`;
    return { outcome: "held", sentence: `Waits ${end}, held by ${holdersText(heldBy)}.`, heldBy };
  }
  if (heldUntil !== null && isDueUnderHold(facts, due)) {
    const heldBy = standingBy(facts, due);
    const sentence = `Was held by ${holdersText(heldBy)} until ${isoInstant(heldUntil)}: the hold is over, and it starts now.`;
    return { outcome: "waiting", reason: "worker", sentence, heldBy };
  }
  const move = moveOf(job, version);
  if (due > now) {
    const start = `${isoInstant(due)}${movedText(move)}`;
    return { outcome: "planned", sentence: `Is planned: its job is made, and starts at ${start}.` };
  }
  const was = `Was due at ${isoInstant(due)}${movedAside(move)}`;
  if (travel?.inLane === true) return inLane(facts, job, was);
  if (travel != null && travel.atTarget !== null) return atTarget(travel, was, now);
  const ready = job.readyAt?.getTime() ?? due;
  return ready > now
    ? letInLater(facts, `Was due at ${isoInstant(due)}${movedText(move)}`, ready)
    : waitsForWorker(facts, due, was);
}

function inLane({ around }: Facts, { occurrence }: JobRead, was: string): Verdict {
  const ahead = around.find((other) => unsettled.has(other.state) && other.occurrence < occurrence);
  const which = ahead === undefined ? "earlier runs" : `the run of ${instantText(ahead.occurrence)}`;
  return {
    outcome: "waiting",
    reason: "lane",
    sentence: `${was} and waits in its lane for ${which} to end.`,
    ...(ahead === undefined ? {} : { behind: ahead.occurrence }),
  };
}

function atTarget({ atTarget: target, teamFull, startsAt }: TravelFact, was: string, now: number): Verdict {
  const start =
    startsAt !== null && startsAt.getTime() > now ? `, and starts at ${instantText(startsAt)}` : "";
  const why =
    teamFull == null
      ? "whose limits or share of the workers are used up"
      : `where its team has as many jobs under way as one team may (${teamFull})`;
  return {
    outcome: "waiting",
    reason: "target",
    sentence: `${was} and waits for its turn at ${target}, ${why}${start}.`,
  };
}

function letInLater({ travel }: Facts, was: string, ready: number): Verdict {
  const owed = travel?.owed === true;
  return {
    outcome: "waiting",
    reason: owed ? "backlog" : "ready",
    sentence: `${was}, ${owed ? "has left the backlog" : "waits"} and starts at ${isoInstant(ready)}.`,
  };
}

function waitsForWorker(facts: Facts, due: number, was: string): Verdict {
  const { travel, now } = facts;
  if (travel === null) {
    const sentence = `${was} and has waited for ${spanText(now - due)}; nothing will start it, because its parcel is gone. Retry or cancel it.`;
    return { outcome: "waiting", reason: "worker", sentence };
  }
  // The first offer is not a repetition.
  const repeated = Math.max(0, travel.offers - 1);
  const times = repeated === 1 ? "once" : `${repeated} times`;
  const again = repeated === 0 ? "" : `; its message has been sent again ${times}`;
  const workers = (["fast-workers", "slow-workers"] as const).filter(
    (name) => name === `${travel.queue}-workers`,
  );
  const outage = outageIn(facts, [...workers, "database"], { from: due, to: now });
  const away = outage === undefined ? "" : `: ${outageText(outage)}`;
  return {
    outcome: "waiting",
    reason: "worker",
    sentence: `${was} and has waited for a worker for ${spanText(now - due)}${away}${again}.`,
    ...(outage === undefined ? {} : { outage }),
  };
}

const unsettled: ReadonlySet<string> = new Set(["waiting", "running", "retrying"]);

const endsRechecks: ReadonlySet<string> = new Set(["replaced", "patched", "restored"]);

function stopText({ requests: { cancelled } }: Facts): string {
  return cancelled === null ? "" : `; its cancellation was ${requestText(cancelled, "requested")}`;
}

function explainCancelled({ versions, now, requests }: Facts, job: JobRead): Verdict {
  const deleted = versions.findLast(({ change }) => change === "deleted");
  const reason = job.reason ?? "cancelled";
  if (job.reason === "deleted" && deleted !== undefined) {
    const sentence = `Was cancelled: the schedule was deleted at ${isoInstant(deleted.at)} by ${actorText(deleted.by)} before it had run.`;
    return { outcome: "cancelled", reason, sentence };
  }
  if (job.reason === "moved") {
    const when = instantText(job.finishedAt);
    const sentence = `Was cancelled here: its schedule moved to another installation at ${when}, and the job goes on there.`;
    return { outcome: "cancelled", reason, sentence };
  }
  if (job.reason === "superseded") {
    const edit = versions.findLast(
      ({ at, change }) => endsRechecks.has(change) && at <= (job.finishedAt?.getTime() ?? now),
    );
    const by = edit === undefined ? "edited" : `${editText(edit)} at ${isoInstant(edit.at)}`;
    return {
      outcome: "cancelled",
      reason,
      sentence: `Was cancelled: the schedule was ${by}, before it was due.`,
    };
  }
  const by = requests.cancelled === null ? "" : `, ${requestText(requests.cancelled, "requested")}`;
  const started =
    job.attempt === 0
      ? ""
      : ` It had ${job.attempt === 1 ? "one attempt" : `${job.attempt} attempts`} before.`;
  return {
    outcome: "cancelled",
    reason,
    sentence: `Was cancelled at ${instantText(job.finishedAt)}${by}.${started}`,
  };
}
