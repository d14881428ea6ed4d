import { nextRunAfter, previousRunBefore } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import type { JobKey } from "../job/job-id.ts";
import { timesOfMany } from "../job/read-attempts.ts";
import { type JobRead, readJobsAt } from "../job/read-job.ts";
import type { Outage } from "../parcel/outages.ts";
import { fullLineOf } from "../plan/backlog-room.ts";
import { whyAside } from "../quarantine/entries.ts";
import { isPulse } from "../schedule/shape/pulse-shape.ts";
import { dueAt } from "../schedule/stored/timetable.ts";
import { versionsFaultOf } from "../schedule/stored/versions-fault.ts";
import { limitOf, outagesSince, type SubjectRow, standingOf, travelsOf } from "./facts.ts";
import { plannerOf, timetableIn, versionOf } from "./place.ts";
import { pulseFactsOf } from "./pulse.ts";
import { jobRequestsOf, noJobRequests } from "./requests.ts";
import type { Facts, PassedFact, PulseFact, VersionFact } from "./verdict.ts";

/** How many neighbours of the instants are read on each side, as for one explanation. */
const around = { before: 10, after: 12 };

/** How many ranges of passed-over occurrences are read. */
const rangesMax = 500;

/** How many outages are read, of all instants together. */
const outagesMax = 500;

/** How many other jobs of the instants are read. */
const besideMax = 500;

/**
 * The facts about many instants of one schedule, oldest first, with as many statements as for one.
 * The rechecks that a run led to are not among them.
 */
export async function factsOfMany(
  tx: Tx,
  { key, subject, versions }: { key: string; subject: SubjectRow; versions: readonly VersionFact[] },
  instants: readonly number[],
): Promise<Facts[]> {
  const { id, heldSince, heldUntil } = subject;
  const [first, last] = [instants[0], instants.at(-1)];
  if (first === undefined || last === undefined) return [];
  const standing = await standingOf(tx, subject);
  const ranges = await rangesBetween(tx, id, first, last);
  const neighbours = neighboursOf(versions, { first, last, ranges });
  const cadenceJobs = await readJobsAt(
    tx,
    [...new Set([...instants, ...neighbours])].map((at) => ({ scheduleId: id, occurrence: new Date(at) })),
  );
  const own = cadenceJobs.sort((a, b) => a.occurrence.getTime() - b.occurrence.getTime());
  const beside = await besideAt(tx, id, instants);
  const all = [...own, ...beside];
  const meantJobs = all.filter(({ occurrence }) => instants.includes(occurrence.getTime()));
  const times = await timesOfMany(tx, meantJobs);
  const withTimes = (job: JobRead) => ({ ...job, ...times.get(job.id) });
  const ends = instants.map((at) => {
    const passed = ranges.find((range) => range.from.getTime() <= at && at <= range.to.getTime());
    const meant = meantJobs.find(({ occurrence, kind }) => occurrence.getTime() === at && kind === "cadence");
    return endOfWait(meant, passed ?? null) ?? standing.now.getTime();
  });
  const outages = await outagesSince(tx, new Date(first), new Date(Math.max(...ends)), outagesMax);
  const requests = await jobRequestsOf(tx, all);
  const travels = await travelsOf(
    tx,
    all.filter(({ state }) => state === "waiting"),
  );
  const owed = await owedAt(tx, id, instants);
  const pulses = await pulsesAt(tx, { key, subject, versions }, instants);
  const shared = {
    key,
    now: standing.now.getTime(),
    createdAt: subject.createdAt.getTime(),
    versions,
    chain: [],
    fullLine: owed.size === 0 ? null : await fullLineOf(tx, id),
    versionsFault: await versionsFaultOf(tx, id),
    aside: await whyAside(tx, id),
    holds: standing.holds,
    heldSince: heldSince?.getTime() ?? null,
    heldUntil: heldUntil?.getTime() ?? null,
    plannedUpTo: standing.plannedUpTo.getTime(),
    keptFrom: standing.keptFrom.getTime(),
    limit: await limitOf(tx, subject, standing.now),
  };
  return instants.map((at) => {
    const found = own.find(({ occurrence }) => occurrence.getTime() === at);
    const others = beside.filter(({ occurrence }) => occurrence.getTime() === at);
    const meant = found ?? others.find(({ kind }) => kind === "again");
    const passed = ranges.find((range) => range.from.getTime() <= at && at <= range.to.getTime()) ?? null;
    const until = Math.max(at, passed?.to.getTime() ?? 0);
    return {
      ...shared,
      at,
      job: found === undefined ? null : withTimes(found),
      beside: others.map(withTimes),
      travel: meant === undefined ? null : (travels.get(meant.id) ?? null),
      requests: meant === undefined ? noJobRequests : (requests.get(meant.id) ?? noJobRequests),
      pulse: pulses.get(at) ?? null,
      outages: outages.filter((each) =>
        overlaps(each, { from: at, to: endOfWait(meant, passed) ?? standing.now.getTime() }),
      ),
      passed,
      passedBefore: ranges.findLast((range) => range.to.getTime() < at) ?? null,
      owedBefore: owed.get(at) ?? null,
      around: [
        ...own.filter(({ occurrence }) => occurrence.getTime() < at).slice(-around.before),
        ...own.filter(({ occurrence }) => occurrence.getTime() > until).slice(0, around.after),
      ],
    };
  });
}

/** Until when an outage may have delayed an occurrence; null: it may delay it still. */
function endOfWait(job: JobRead | undefined, passed: PassedFact | null): number | null {
  return (job?.startedAt ?? passed?.notedAt ?? job?.finishedAt)?.getTime() ?? null;
}

const overlaps = ({ from, to }: Outage, span: { from: number; to: number }): boolean =>
  from.getTime() < span.to && (to === null || to.getTime() > span.from || from.getTime() >= span.from);

/** The ranges that reach into a stretch of time, and the last one before it; in the order of their ends. */
async function rangesBetween(tx: Tx, id: string, first: number, last: number): Promise<PassedFact[]> {
  const columns = tx`from_at as "from", to_at as "to", case reason when 'unreadable' then null else count::int end as count, more, reason, noted_at as "notedAt"`;
  return [
    ...(await tx<PassedFact[]>`
      select * from (
        (select ${columns} from carillon.passed_over where schedule_id = ${id} and to_at < ${new Date(first)} order by to_at desc limit 1)
        union all (select * from (
          select ${columns} from carillon.passed_over where schedule_id = ${id} and to_at >= ${new Date(first)} order by to_at limit ${rangesMax}) l
          where l.from <= ${new Date(last)})) r
      order by r.to`),
  ];
}

/** Runs before and after the instants, and after each range that has some of them. */
function neighboursOf(
  versions: readonly VersionFact[],
  { first, last, ranges }: { first: number; last: number; ranges: readonly PassedFact[] },
): number[] {
  const found: number[] = [];
  const walk = (begin: number, most: number, next: typeof nextRunAfter) => {
    const version = versionOf(versions, begin);
    let at = version === undefined ? null : next(version.cadence, begin);
    for (let n = 0; version !== undefined && at !== null && n < most; n++, at = next(version.cadence, at))
      found.push(at);
  };
  walk(first, around.before, previousRunBefore);
  walk(last, around.after, nextRunAfter);
  for (const { to } of ranges.slice(-afterRangesMax)) walk(to.getTime(), 2, nextRunAfter);
  return found;
}

/** Behind how many ranges the runs are read into which they may have collapsed. */
const afterRangesMax = 50;

/** The jobs of other kinds than `cadence` at the instants. */
async function besideAt(tx: Tx, id: string, instants: readonly number[]): Promise<JobRead[]> {
  const keys = await tx<JobKey[]>`
    select b.schedule_id as "scheduleId", b.occurrence, b.kind, b.n
    from unnest(${tx.array(instants.map((at) => new Date(at)))}::timestamptz[]) k (at)
    cross join lateral (
      select * from carillon.jobs_beside b where b.schedule_id = ${id} and b.occurrence = k.at order by b.kind, b.n limit 10) b
    limit ${besideMax}`;
  return readJobsAt(tx, keys);
}

/** How many occurrences of the schedule leave the backlog before each of these that is in it. */
async function owedAt(tx: Tx, id: string, instants: readonly number[]): Promise<Map<number, number>> {
  const rows = await tx<{ at: Date; before: number }[]>`
    select k.at, o.before from unnest(${tx.array(instants.map((at) => new Date(at)))}::timestamptz[]) k (at)
    cross join lateral (
      select array_position(b.occurrences, k.at, b.taken + 1) - b.taken - 1 as before from carillon.backlog b
      where b.schedule_id = ${id} and b.next_occurrence <= k.at and b.kind = 'cadence' and k.at = any(b.occurrences[b.taken + 1 :]) limit 1) o`;
  return new Map(rows.map(({ at, before }) => [at.getTime(), before]));
}

async function pulsesAt(
  tx: Tx,
  { key, subject, versions }: { key: string; subject: SubjectRow; versions: readonly VersionFact[] },
  instants: readonly number[],
): Promise<Map<number, PulseFact>> {
  const beats = instants.flatMap((at) => {
    const version = plannerOf(key, versions, at);
    return version === undefined || !isPulse(version)
      ? []
      : [{ at, due: dueAt(timetableIn(key, version), at) }];
  });
  if (beats.length === 0) return new Map();
  const facts = await pulseFactsOf(
    tx,
    subject,
    beats.map(({ due }) => due),
  );
  return new Map(beats.flatMap(({ at }, index) => (facts[index] === undefined ? [] : [[at, facts[index]]])));
}
