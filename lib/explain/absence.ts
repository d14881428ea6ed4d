import { unreadableReason } from "../cadence/cadence.ts";
import { normalForm } from "../cadence/normal-form.ts";
import { isoInstant } from "../cadence/zone/civil.ts";
import { isBeyond } from "../plan/fires-left.ts";
import { dueAt } from "../schedule/stored/timetable.ts";
import { unreadAdvice } from "../schedule/stored/versions-fault.ts";
import { actorText } from "./actor.ts";
import { editOf, explainElsewhere, firedVerdict } from "./elsewhere.ts";
import { heldAt, holdersText } from "./holds-then.ts";
import { madeUpText } from "./made-up.ts";
import { movedAside, movedText } from "./moved.ts";
import { awayBy, awayFromHold, awayText } from "./moved-away.ts";
import { type Nearest, type Place, placeOf, plannerOf, timetableIn, versionBy } from "./place.ts";
import { explainPulse } from "./pulse.ts";
import { explainRange } from "./skipped.ts";
import type { Facts, Verdict, VersionFact } from "./verdict.ts";

/** Explains an instant for which the cadence has no job. */
export function explainAbsence(facts: Facts, version: VersionFact | undefined, nearest: Nearest): Verdict {
  const { at, versions } = facts;
  const first = versions[0];
  const isKnown = facts.passed !== null || facts.owedBefore !== null || at < facts.createdAt;
  if (facts.versionsFault !== null && !isKnown) return notKnown(facts.versionsFault);
  if (version === undefined) {
    const since = `it was created at ${isoInstant(facts.createdAt)}${first === undefined ? "" : ` by ${actorText(first.by)}`}`;
    return { outcome: "not-created", sentence: `Is before the schedule existed: ${since}.` };
  }
  if (version.change === "deleted") return afterDelete(version);
  const place = placeOf(version, at);
  const planner = plannerOf(facts.key, versions, at) ?? version;
  const due = dueAt(timetableIn(facts.key, planner), at);
  const unread = unreadableReason(version.cadence);
  if (unread !== null && facts.passed === null && facts.owedBefore === null)
    return unreadVerdict(version, unread);
  if (unread === null && place.kind !== "run" && place.kind !== "skipped-day")
    return explainElsewhere(facts, version, place, nearest);
  if (facts.passed !== null) {
    const decidedBy = versionBy(versions, facts.passed.notedAt.getTime()) ?? version;
    return explainRange(facts, facts.passed, decidedBy, due);
  }
  return explainRun(facts, planner, place, due);
}

function afterDelete(version: VersionFact): Verdict {
  const away = awayBy(version);
  const by = `at ${isoInstant(version.at)} by ${actorText(version.by)}`;
  return {
    outcome: away === null ? "deleted" : "moved-away",
    sentence:
      away === null
        ? `Is after the end of the schedule: it was deleted ${by}.`
        : `Is after the move of the schedule, which ${awayText(away)}.`,
    edit: editOf(version),
  };
}

/**
 * With an unreadable cadence only the ledger is known, not even whether the instant is an
 * occurrence.
 */
function unreadVerdict({ version, cadence, body, unread }: VersionFact, reason: string): Verdict {
  if (unread !== null) return notKnown(unread);
  return {
    outcome: "set-aside",
    reason: "unreadable",
    sentence: `Cannot be explained: the cadence of version ${version}, \`${normalForm(cadence)}\` in ${body.timezone}, cannot be read here (${reason.replace(/\.$/, "")}). Patch its \`when\` or \`timezone\`, or deploy a release that can read it.`,
  };
}

function notKnown(unread: string): Verdict {
  return {
    outcome: "set-aside",
    reason: "unreadable",
    sentence: `Cannot be explained. ${unreadAdvice(unread)}`,
  };
}

/**
 * Explains an instant that is an occurrence of the version in force then, and has no job. `planner` is the
 * version that plans it.
 */
function explainRun(facts: Facts, planner: VersionFact, place: Place, due: number): Verdict {
  const { at, now, owedBefore, keptFrom, versions } = facts;
  const next = versions[versions.indexOf(planner) + 1];
  if (place.kind === "skipped-day") {
    const { name, day, entry } = place.calendar;
    const by = entry === null || entry === day ? "" : `, by its entry ${entry}`;
    const verb = due > now ? "Will not run" : "Did not run";
    return {
      outcome: "skipped",
      reason: "calendar",
      sentence: `${verb}: the calendar ${name} leaves out ${day}${by}.`,
      calendar: place.calendar,
    };
  }
  if (owedBefore !== null) {
    const before =
      owedBefore === 0 ? "it is the next of its schedule" : `${owedBefore} of its schedule come first`;
    return {
      outcome: "backlog",
      sentence: `Was missed and waits in the backlog: ${before}.${fullLineText(facts)}`,
      ...(isShut(facts) ? { reason: "target" } : {}),
      backlog: { before: owedBefore },
    };
  }
  if (at < keptFrom && facts.pulse === null) {
    const sentence = `Was an occurrence, but jobs are kept only from ${isoInstant(keptFrom)} on: its outcome is no longer known.`;
    return { outcome: "too-old", sentence };
  }
  if (next?.change === "deleted" && next.at < due) return explainGone(next, { at, due, version: planner });
  if (facts.pulse !== null) return explainPulse(facts, facts.pulse, due);
  // The edit that ended a version has planned its occurrences, however far the ticks have come.
  const isOpen = next === undefined && due > facts.plannedUpTo;
  return (
    explainBeyond(facts, planner, due) ??
    explainHeld(facts, planner, due) ??
    explainUsedUp(facts, planner, { isOpen }) ??
    explainPlan(facts, planner, { due, isOpen })
  );
}

/** Explains a run that was due after its schedule had been deleted or had moved away. */
function explainGone(end: VersionFact, run: { at: number; due: number; version: VersionFact }): Verdict {
  const away = awayBy(end);
  const why =
    away === null
      ? `was deleted before, at ${isoInstant(end.at)} by ${actorText(end.by)}`
      : `had moved before: it ${awayText(away)}`;
  return {
    outcome: away === null ? "deleted" : "moved-away",
    sentence: `Was due at ${isoInstant(run.due)}${movedText(run)}, but the schedule ${why}.`,
    edit: editOf(end),
  };
}

const isShut = ({ fullLine, heldSince, heldUntil, now }: Facts) =>
  fullLine !== null && (heldSince === null || (heldUntil !== null && heldUntil <= now));

function fullLineText(facts: Facts): string {
  const { fullLine } = facts;
  if (fullLine === null || !isShut(facts)) return "";
  const { target, hasTeam, underWay } = fullLine;
  const [user, jobs] = hasTeam ? ["team", "jobs of it"] : ["target", "jobs"];
  return ` Its ${user} has used up its share of the backlog: ${underWay} ${jobs} for ${target ?? "queues and buses without a limit"} are not done. More follow as these end.`;
}

function explainHeld(facts: Facts, version: VersionFact, due: number): Verdict | null {
  const span = heldAt(facts, due);
  if (span === null) return null;
  const heldBy = span.by;
  const by = `held by ${holdersText(heldBy)} since ${isoInstant(span.since)}`;
  const away = awayFromHold(facts.versions, span);
  if (away !== null) {
    const sentence = `Did not run here: the move of the schedule had stopped it. It ${awayText(away)}.`;
    return { outcome: "moved-away", sentence, heldBy };
  }
  const { catchUp } = version.body;
  if (isUncleared(facts) && span.until === facts.heldUntil) {
    const sentence = `Has not run: it was due while the schedule was ${by}. The hold is over since ${isoInstant(span.until ?? facts.now)}: at the next tick, ${madeUpText(catchUp)}.`;
    return { outcome: "held", sentence, heldBy };
  }
  const isCurrent = facts.heldSince !== null && due > facts.heldSince;
  const isOver = span.until !== null && span.until <= facts.now;
  if ((isOver || !isCurrent) && wasUsedUp(facts, version)) return null;
  if (span.until !== null && span.until <= facts.now)
    return { outcome: "skipped", reason: "paused", sentence: `Did not run: the schedule was ${by}.`, heldBy };
  const end =
    span.until === null ? "when the last hold ends" : `when the hold ends at ${isoInstant(span.until)}`;
  const was = due > facts.now ? "Will be" : "Has not run: it was";
  const sentence = `${was} due while the schedule is ${by}: ${end}, ${madeUpText(catchUp)}.`;
  return { outcome: "held", sentence, heldBy };
}

/** The last hold is over, and the tick that clears it has not come yet. */
function isUncleared({ heldSince, heldUntil, now }: Facts): boolean {
  return heldSince !== null && heldUntil !== null && heldUntil <= now;
}

function beyondLimit(facts: Facts, sentence: string): Verdict {
  return firedVerdict(facts) ?? { outcome: "after-end", reason: "maxFires", sentence };
}

/** Explains a run after the last one that the limit of the schedule allows. */
function explainBeyond(facts: Facts, { cadence }: VersionFact, due: number): Verdict | null {
  const { at, limit, heldSince } = facts;
  if (limit === null) return null;
  const isUnderHold = limit.isBeforeHold && heldSince !== null && due > heldSince;
  if (!isUnderHold && !isBeyond(cadence, at, limit)) return null;
  const used = `\`maxFires\` of ${limit.maxFires}`;
  return beyondLimit(
    facts,
    limit.left === 0
      ? `Does not run: the schedule had used up its ${used} before.`
      : `Will not run: by then the schedule will have used up its ${used}.`,
  );
}

/** Explains a run that the ticks have passed without a trace. */
function explainUsedUp(facts: Facts, version: VersionFact, { isOpen }: { isOpen: boolean }): Verdict | null {
  if (!wasUsedUp(facts, version)) return null;
  if (isOpen && facts.limit?.isUsedUp !== true) return null;
  return beyondLimit(
    facts,
    `Does not run: the schedule had used up its \`maxFires\` of ${version.body.maxFires} before.`,
  );
}

/** Whether the limit of a version may have been used up. Each run before that is recorded. */
function wasUsedUp({ limit, versions }: Facts, version: VersionFact): boolean {
  const { maxFires } = version.body;
  if (maxFires === null) return false;
  // An edit that sets a limit resets the count.
  const isCountedSince = versions
    .slice(versions.indexOf(version))
    .every(({ body }) => body.maxFires !== null);
  return limit === null || !isCountedSince || limit.fires >= maxFires;
}

function explainPlan(
  facts: Facts,
  version: VersionFact,
  { due, isOpen }: { due: number; isOpen: boolean },
): Verdict {
  const { now, plannedUpTo, at, aside, heldUntil } = facts;
  if (due > now) {
    const moved = due === at ? "" : `, due at ${isoInstant(due)}${movedText({ at, due, version })}`;
    return {
      outcome: "planned",
      sentence: `Is planned${moved}: its job is made about three minutes before.`,
    };
  }
  const was = `Was due at ${isoInstant(due)}${movedAside({ at, due, version })}`;
  if (isOpen) {
    const behind = `the ticks have only reached ${isoInstant(plannedUpTo)}`;
    return {
      outcome: "not-planned-yet",
      sentence: `${was} and is not planned yet: ${behind}.`,
    };
  }
  if (isUncleared(facts) && heldUntil !== null && due > heldUntil) {
    const sentence = `Was due at ${isoInstant(due)}${movedText({ at, due, version })}, after the hold had ended at ${isoInstant(heldUntil)}: its job is made by the tick that clears the hold.`;
    return { outcome: "not-planned-yet", sentence };
  }
  if (aside.some(({ consumer }) => consumer === "plan"))
    return { outcome: "set-aside", sentence: `${was} and has no job yet.` };
  return {
    outcome: "unrecorded",
    sentence: `Was due at ${isoInstant(due)}${movedText({ at, due, version })}, and nothing is recorded about it.`,
  };
}
