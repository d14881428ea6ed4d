import { normalForm } from "../cadence/normal-form.ts";
import { canonicalTimezone } from "../cadence/zone/timezone.ts";
import { wallText } from "../cadence/zone/wall-text.ts";
import type { Sql, Tx } from "../db/connect.ts";
import { rechecksOfRun } from "../history/rechecks.ts";
import { parseJobId } from "../job/job-id.ts";
import type { JobRead } from "../job/read-job.ts";
import { fullLineOf } from "../plan/backlog-room.ts";
import { whyAside } from "../quarantine/entries.ts";
import { isPulse } from "../schedule/shape/pulse-shape.ts";
import { dueAt } from "../schedule/stored/timetable.ts";
import { versionsFaultOf } from "../schedule/stored/versions-fault.ts";
import { explainAbsence } from "./absence.ts";
import { withAside } from "./aside.ts";
import {
  findSubject,
  jobsAround,
  jobsOfInstant,
  limitOf,
  outagesSince,
  owedBefore,
  passedAround,
  type SubjectRow,
  standingOf,
  travelsOf,
  versionsAround,
} from "./facts.ts";
import { besideNear, occurrenceMeant } from "./meant.ts";
import {
  type Nearest,
  nearestTo,
  noteOn,
  placeOf,
  plannerOf,
  timetableIn,
  versionBy,
  versionOf,
} from "./place.ts";
import { pulseFactsOf } from "./pulse.ts";
import { explainRecheck, followedText, recheckBesideText } from "./recheck.ts";
import { jobRequestsOf, noJobRequests } from "./requests.ts";
import type { Facts, Verdict, VersionFact } from "./verdict.ts";
import { explainJob } from "./with-job.ts";

/** Explains what happened, or will happen, at an instant of a schedule, and why. */
export interface Explanation extends Verdict {
  key: string;
  scheduleId: string;
  /** The occurrence that is explained. */
  at: Date;
  /** The requested instant, if it is not the occurrence: its due time, or up to a second away. */
  asked: Date | null;
  /** In the schedule's zone, or in UTC if that is unknown here. */
  wall: string;
  /** Whether it is an occurrence of the version in force then, and so in the ledger. */
  occurrence: boolean;
  version: number | null;
  cadence: string | null;
  dueAt: Date | null;
  /** How a clock change or a calendar affected it. */
  note: string | null;
  job: JobRead | null;
  beside: readonly JobRead[];
  nearest: Nearest;
}

/** Reads all facts about an instant in one snapshot, and explains them. */
export function explain(sql: Sql, { key, at }: { key: string; at: Date }): Promise<Explanation> {
  return sql.begin(async (tx) => {
    const subject = await findSubject(tx, key, at);
    const versions = await versionsAround(tx, subject.id, at);
    const beside = await besideNear(tx, subject.id, at);
    const occurrence = occurrenceMeant(key, versions, { at: at.getTime(), beside });
    const facts = await gather(tx, key, subject, new Date(occurrence));
    const asked = occurrence === at.getTime() ? null : at;
    return { ...explained(facts), scheduleId: subject.id, asked };
  }, "isolation level repeatable read");
}

async function gather(tx: Tx, key: string, subject: SubjectRow, at: Date): Promise<Facts> {
  const { id, heldSince, heldUntil } = subject;
  const versions = await versionsAround(tx, id, at);
  const standing = await standingOf(tx, subject);
  const { job, beside } = await jobsOfInstant(tx, id, at);
  const subjectJob = job ?? recheckIn(beside);
  const root = subjectJob?.recheckOf == null ? subjectJob : parseJobId(subjectJob.recheckOf);
  const { passed, passedBefore } = await passedAround(tx, id, at);
  const requests = subjectJob === null ? null : (await jobRequestsOf(tx, [subjectJob])).get(subjectJob.id);
  const version = versionOf(versions, at.getTime());
  const planner = plannerOf(key, versions, at.getTime());
  const before = await owedBefore(tx, id, at);
  const span = { from: at.getTime(), to: Math.max(at.getTime(), passed?.to.getTime() ?? 0) };
  return {
    key,
    at: at.getTime(),
    now: standing.now.getTime(),
    createdAt: subject.createdAt.getTime(),
    versions,
    job,
    beside,
    travel: subjectJob === null ? null : ((await travelsOf(tx, [subjectJob])).get(subjectJob.id) ?? null),
    chain: root === null ? [] : await rechecksOfRun(tx, root),
    requests: requests ?? noJobRequests,
    pulse:
      planner === undefined || !isPulse(planner)
        ? null
        : ((await pulseFactsOf(tx, subject, [dueAt(timetableIn(key, planner), at.getTime())]))[0] ?? null),
    passed,
    passedBefore,
    owedBefore: before,
    fullLine: before === null ? null : await fullLineOf(tx, id),
    versionsFault: await versionsFaultOf(tx, id),
    aside: await whyAside(tx, id),
    holds: standing.holds,
    outages: await outagesSince(
      tx,
      at,
      subjectJob?.startedAt ?? passed?.notedAt ?? job?.finishedAt ?? standing.now,
    ),
    heldSince: heldSince?.getTime() ?? null,
    heldUntil: heldUntil?.getTime() ?? null,
    plannedUpTo: standing.plannedUpTo.getTime(),
    keptFrom: standing.keptFrom.getTime(),
    limit: await limitOf(tx, subject, standing.now),
    around: version === undefined ? [] : await jobsAround(tx, id, version.cadence, span),
  };
}

export function explained(facts: Facts): Omit<Explanation, "scheduleId" | "asked"> {
  const { key, at, versions, job, beside } = facts;
  const version = versionOf(versions, at);
  const nearest = nearestTo(versions, at);
  const isLive = version !== undefined && version.change !== "deleted";
  const place = isLive ? placeOf(version, at) : null;
  const occurrence = job !== null || place?.kind === "run" || place?.kind === "skipped-day";
  const ranAs = job === null ? undefined : versions.find((each) => each.version === job.version);
  const recheck = occurrence ? null : recheckIn(beside);
  const verdict =
    recheck !== null
      ? explainRecheck(facts, recheck)
      : job === null
        ? explainAbsence(facts, version, nearest)
        : explainJob(facts, job, decidedBy(facts, job) ?? ranAs ?? version);
  const aside = (job ?? recheck)?.finishedAt == null ? facts.aside : [];
  const more = `${job === null ? "" : followedText(facts, job)}${backfillText(beside)}${recheck === null ? recheckBesideText(facts) : ""}`;
  const spoken = version ?? versions[0];
  return {
    ...verdict,
    sentence: withAside(`${verdict.sentence}${more}`, verdict.outcome, aside),
    ...(aside.length === 0 ? {} : { setAside: [...aside] }),
    key,
    at: new Date(at),
    wall: wallOf(at, spoken),
    occurrence,
    version: version?.version ?? null,
    cadence: version === undefined ? null : normalForm(version.cadence),
    dueAt: dueOf(facts, occurrence),
    note: isLive && place?.kind === "run" ? noteOn(version, at) : null,
    job,
    beside,
    nearest,
  };
}

function wallOf(at: number, version: VersionFact | undefined): string {
  return wallText(at, canonicalTimezone(version?.body.timezone ?? "UTC") ?? "UTC");
}

/**
 * The version whose catch-up policy left an occurrence out: the one in force when its job was
 * written as skipped. Undefined for other jobs.
 */
function decidedBy({ versions }: Facts, { state, reason, finishedAt }: JobRead): VersionFact | undefined {
  const isPassed = state === "skipped" && (reason === "missed" || reason === "paused");
  return isPassed && finishedAt !== null ? versionBy(versions, finishedAt.getTime()) : undefined;
}

function dueOf({ key, at, versions, job, beside }: Facts, occurrence: boolean): Date | null {
  if (job !== null) return job.dueAt;
  const recheck = occurrence ? null : recheckIn(beside);
  if (recheck !== null) return recheck.dueAt;
  const planner = occurrence ? plannerOf(key, versions, at) : undefined;
  return planner === undefined ? null : new Date(dueAt(timetableIn(key, planner), at));
}

function recheckIn(beside: readonly JobRead[]): JobRead | null {
  return beside.find(({ kind }) => kind === "again") ?? null;
}

function backfillText(beside: readonly JobRead[]): string {
  const backfill = beside.find(({ kind }) => kind === "backfill");
  return backfill === undefined ? "" : ` It was backfilled too: that job is ${backfill.state}.`;
}
