import { isoInstant } from "../cadence/zone/civil.ts";
import type { JobRead } from "../job/read-job.ts";
import { missedAfterMs } from "../plan/shard.ts";
import { actorText } from "./actor.ts";
import { editOf } from "./elsewhere.ts";
import { heldAt, holdersText } from "./holds-then.ts";
import { latenessOf, spanText } from "./late.ts";
import { movedAside } from "./moved.ts";
import { placeOf } from "./place.ts";
import type { Facts, PassedFact, Verdict, VersionFact } from "./verdict.ts";
import { outageIn, outageText } from "./where-lost.ts";

/** Explains an occurrence whose job was skipped, when it was made or when it was claimed. */
export function explainSkipped(facts: Facts, job: JobRead, version: VersionFact | undefined): Verdict {
  const skipped = { outcome: "skipped" as const, reason: job.reason ?? "skipped" };
  const decided = job.finishedAt ?? job.dueAt;
  switch (job.reason) {
    case "late":
      return { ...skipped, ...explainDeadline(facts, job, version, decided) };
    case "overlap": {
      const earlier = runningAt(facts, decided);
      const which =
        earlier === undefined ? "an earlier run" : `the run of ${isoInstant(earlier.occurrence.getTime())}`;
      return {
        ...skipped,
        sentence: `Did not run: ${which} was not over yet when its turn came, and \`overlap\` is skip.`,
        ...(earlier === undefined ? {} : { behind: earlier.occurrence }),
      };
    }
    default:
      return {
        ...explainPassed(facts, version, {
          reason: skipped.reason,
          due: job.dueAt.getTime(),
          decided: decided.getTime(),
        }),
      };
  }
}

function explainDeadline(
  facts: Facts,
  job: JobRead,
  version: VersionFact | undefined,
  decided: Date,
): Pick<Verdict, "sentence" | "late" | "heldBy" | "outage"> {
  const deadline = version?.body.deadline == null ? "" : ` of ${version.body.deadline}`;
  const late = latenessOf(facts, { ...job, startedAt: decided }, version);
  const byMs = late?.byMs ?? decided.getTime() - job.dueAt.getTime();
  const because = late?.because ?? "unrecorded";
  const why = late === null || because === "unrecorded" ? "" : `, because ${late.why}`;
  return {
    sentence: `Did not run: it could only have started ${spanText(byMs)} after it was due${why}, later than its deadline${deadline} allows.`,
    late: { byMs, because },
    ...(late?.heldBy === undefined ? {} : { heldBy: late.heldBy }),
    ...(late?.outage === undefined ? {} : { outage: late.outage }),
  };
}

/** The earlier job that was running or waiting at an instant. */
function runningAt({ around, at }: Facts, instant: Date): JobRead | undefined {
  return around.findLast(
    ({ occurrence, state, finishedAt }) =>
      occurrence.getTime() < at && state !== "skipped" && (finishedAt === null || finishedAt >= instant),
  );
}

/** Explains an occurrence in a range of occurrences that were passed over together. */
export function explainRange(
  facts: Facts,
  passed: PassedFact,
  version: VersionFact | undefined,
  due: number,
): Verdict {
  if (passed.reason === "unreadable") return explainUnread(facts, passed, version);
  const verdict = explainPassed(facts, version, {
    reason: passed.reason,
    due,
    decided: passed.notedAt.getTime(),
    until: passed.to.getTime(),
  });
  const count = passed.count?.toLocaleString("en-US");
  const others = count === undefined ? "the occurrences" : `${passed.more ? "at least " : ""}${count}`;
  const range = `It is one of ${others} from ${isoInstant(passed.from.getTime())} to ${isoInstant(passed.to.getTime())}.`;
  return { ...verdict, sentence: `${verdict.sentence} ${range}`, passedOver: passed };
}

/**
 * Explains an occurrence in a range of a schedule that was deleted, or given another cadence, while
 * its cadence was unreadable. A later release may be able to read the old cadence.
 */
function explainUnread(
  { at, versions }: Facts,
  passed: PassedFact,
  version: VersionFact | undefined,
): Verdict {
  const isOccurrence = version !== undefined && placeOf(version, at).kind === "run";
  const edited = versions.findLast(({ at: changedAt }) => changedAt === passed.notedAt.getTime());
  const by = edited === undefined ? "" : ` by ${actorText(edited.by)}`;
  const became = edited === undefined || edited.change === "deleted" ? "deleted" : "edited";
  const owed = `the cadence of its schedule could not be read, and no job was made from ${isoInstant(passed.from.getTime())} on`;
  return {
    outcome: "skipped",
    reason: passed.reason,
    sentence: `Did not run${isOccurrence ? "" : ", if it was an occurrence"}: ${owed}. It was ${became} at ${isoInstant(passed.notedAt.getTime())}${by}; the number of occurrences until then is not known.`,
    passedOver: passed,
    ...(edited === undefined ? {} : { edit: editOf(edited) }),
  };
}

interface PassedOver {
  reason: string;
  due: number;
  /** When it was decided that the occurrence does not run. */
  decided: number;
  /** The last occurrence of the same range. */
  until?: number;
}

function explainPassed(facts: Facts, version: VersionFact | undefined, passed: PassedOver): Verdict {
  const place = version === undefined ? null : placeOf(version, facts.at);
  if (place?.kind === "skipped-day") {
    const { name, day, entry } = place.calendar;
    const by = entry === null || entry === day ? "" : `, by its entry ${entry}`;
    return {
      outcome: "skipped",
      reason: "calendar",
      sentence: `Did not run: the calendar ${name} leaves out ${day}${by}.`,
      calendar: place.calendar,
    };
  }
  switch (passed.reason) {
    case "missed":
      return explainMissed(facts, version, passed);
    case "paused":
      return explainPaused(facts, version, passed);
    case "deleted":
      return plainly(passed, "the schedule was deleted before it left the backlog");
    case "moved":
      return plainly(
        passed,
        "another installation had the schedule then, and its ledger says what became of it",
      );
    case "retention":
      return plainly(passed, "when its turn in the backlog came, it was older than the retention of jobs");
    default:
      return plainly(passed, `it was passed over (${passed.reason})`);
  }
}

function plainly({ reason }: PassedOver, why: string): Verdict {
  return { outcome: "skipped", reason, sentence: `Did not run: ${why}.` };
}

function explainMissed(facts: Facts, version: VersionFact | undefined, passed: PassedOver): Verdict {
  const late = spanText(passed.decided - passed.due);
  const outage = outageIn(facts, ["tick", "database"], { from: passed.due, to: passed.decided });
  const away = outage === undefined ? "" : `, because ${outageText(outage)}`;
  const by = movedAside({ at: facts.at, due: passed.due, version });
  const missed = `it was due at ${isoInstant(passed.due)}${by} and could only be planned ${late} later${away}, and an occurrence planned more than ${spanText(missedAfterMs)} late is missed`;
  const into = collapsedInto(facts, version, passed);
  return {
    outcome: "skipped",
    reason: "missed",
    sentence: `Did not run: ${missed}; ${policyText(version, passed, into)}.`,
    ...(outage === undefined ? {} : { outage }),
    ...(into === undefined ? {} : { collapsedInto: into.occurrence }),
  };
}

/** With `latest`, the newest missed occurrence runs for all of them. */
function collapsedInto(
  { around, at }: Facts,
  version: VersionFact | undefined,
  { until = at, decided }: PassedOver,
): JobRead | undefined {
  if (version?.body.catchUp.policy !== "latest") return undefined;
  const next = around.find(({ occurrence, state }) => occurrence.getTime() > until && state !== "skipped");
  return next !== undefined && next.dueAt.getTime() <= decided ? next : undefined;
}

function policyText(
  version: VersionFact | undefined,
  { due, decided }: PassedOver,
  into: JobRead | undefined,
): string {
  if (version === undefined) return "its catch-up policy passed it over";
  const { policy, within, limit } = version.body.catchUp;
  if (policy === "skip") return "missed runs are not made up (`catchUp`: skip)";
  const tooOld = within === null ? "" : `, if no older than ${within},`;
  if (policy === "all") return `only the newest ${limit} missed runs${tooOld} are made up (\`catchUp\`: all)`;
  if (into !== undefined)
    return `of the missed runs only that of ${isoInstant(into.occurrence.getTime())}, the latest, is made up (\`catchUp\`: latest)`;
  const age = within === null ? "" : ` (it was ${spanText(decided - due)} old)`;
  return `only the latest missed run${tooOld} is made up (\`catchUp\`: latest)${age}`;
}

function explainPaused(facts: Facts, version: VersionFact | undefined, passed: PassedOver): Verdict {
  const span = heldAt(facts, passed.due);
  const by = span === null ? "" : ` by ${holdersText(span.by)}`;
  const since = span === null ? "" : ` from ${isoInstant(span.since)}`;
  const end = span?.until == null ? "" : ` to ${isoInstant(span.until)}`;
  const into = collapsedInto(facts, version, passed);
  const policy = version?.body.catchUp.policy ?? "latest";
  const became =
    into === undefined
      ? `, and it was not made up afterwards (\`catchUp\`: ${policy})`
      : `, and of the missed runs only that of ${isoInstant(into.occurrence.getTime())}, the latest, was made up (\`catchUp\`: ${policy})`;
  return {
    outcome: "skipped",
    reason: "paused",
    sentence: `Did not run: the schedule was held${by}${since}${end}${became}.`,
    ...(span === null ? {} : { heldBy: span.by }),
    ...(into === undefined ? {} : { collapsedInto: into.occurrence }),
  };
}
