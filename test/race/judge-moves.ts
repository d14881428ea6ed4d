import type { Sql } from "../../lib/db/connect.ts";
import type { Side } from "./move-race.ts";

interface Asked {
  key: string;
  onceAt: number | null;
  firstAt: number | null;
  everyMs: number | null;
  createdAt: number;
}

interface Recorded {
  key: string;
  occurrence: number;
  state: string;
  reason: string | null;
  side: string;
}

interface Work {
  key: string;
  group: string | null;
  occurrence: number;
  from: number;
  until: number;
}

const cronStepMs = 10_000;

/**
 * Every occurrence up to the end has succeeded in exactly one of the two installations, and the other
 * one has at most a note that its job was moved. No job, and no two jobs of the serial group, were
 * under live leases in both at one time.
 */
export async function judgeMoves(
  sides: readonly Side[],
  { end, factor }: { end: number; factor: number },
): Promise<{ expected: number; claims: number; moved: number; violations: string[] }> {
  const asked = new Map<string, Asked>();
  const recorded: Recorded[] = [];
  const work: Work[] = [];
  let moved = 0;
  for (const side of sides) {
    for (const each of await readAsked(side.sql)) if (!asked.has(each.key)) asked.set(each.key, each);
    recorded.push(...(await readJobs(side)));
    work.push(...(await workOf(side, factor)));
    moved += await arrivedAt(side.sql);
  }
  const violations: string[] = [];
  let expected = 0;
  const byKey = Map.groupBy(recorded, ({ key }) => key);
  for (const each of asked.values()) {
    const jobs = Map.groupBy(byKey.get(each.key) ?? [], ({ occurrence }) => occurrence);
    const owed = occurrencesOf(each, end);
    expected += owed.length;
    for (const occurrence of owed)
      violations.push(...judgeOccurrence(each.key, occurrence, jobs.get(occurrence) ?? []));
    for (const occurrence of jobs.keys())
      if (occurrence <= end && !owed.includes(occurrence))
        violations.push(`not asked for: ${nameOf(each.key, occurrence)}`);
  }
  violations.push(...overlaps(work, ({ key, occurrence }) => nameOf(key, occurrence), "worked in both"));
  violations.push(
    ...overlaps(
      work.filter(({ group }) => group !== null),
      ({ group }) => String(group),
      "group",
    ),
  );
  return { expected, claims: work.length, moved, violations };
}

async function arrivedAt(sql: Sql): Promise<number> {
  const [row] = await sql<{ arrived: number }[]>`
    select count(*)::int as arrived from carillon.arrived_schedules where part = 0 and schedule_id is not null`;
  return row?.arrived ?? 0;
}

const nameOf = (key: string, occurrence: number) => `${key}@${new Date(occurrence).toISOString()}`;

function occurrencesOf({ onceAt, firstAt, everyMs, createdAt }: Asked, end: number): number[] {
  if (onceAt !== null) return onceAt <= end ? [onceAt] : [];
  const step = everyMs ?? cronStepMs;
  const first = firstAt ?? Math.floor(createdAt / cronStepMs + 1) * cronStepMs;
  const found: number[] = [];
  for (let at = first; at <= end; at += step) found.push(at);
  return found;
}

function judgeOccurrence(key: string, occurrence: number, jobs: readonly Recorded[]): string[] {
  const name = nameOf(key, occurrence);
  const done = jobs.filter(({ state }) => state === "succeeded");
  const others = jobs.filter(({ state, reason }) => state !== "succeeded" && reason !== "moved");
  const said = jobs.map(({ side, state, reason }) => `${side} ${state} ${reason ?? ""}`.trim()).join(", ");
  if (done.length === 0) return [`lost: ${name} (${said})`];
  if (done.length > 1) return [`doubled: ${name} (${said})`];
  return others.length > 0 ? [`left: ${name} (${said})`] : [];
}

function readAsked(sql: Sql): PromiseLike<Asked[]> {
  return sql<Asked[]>`
    select distinct on (s.key) s.key, (extract(epoch from v.once_at) * 1000)::float8 as "onceAt", (extract(epoch from v.first_at) * 1000)::float8 as "firstAt",
      v.every_ms::float8 as "everyMs", (extract(epoch from s.created_at) * 1000)::float8 as "createdAt"
    from carillon.schedules s join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version order by s.key, s.id`;
}

function readJobs({ sql, name }: Side): PromiseLike<Recorded[]> {
  return sql<Recorded[]>`
    select s.key, (extract(epoch from j.occurrence) * 1000)::float8 as occurrence, j.state, j.reason, ${name}::text as side
    from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id where j.kind = 'cadence'`;
}

/** The claims of one installation, in real time: the fast clocks of the two began at different moments. */
async function workOf({ sql, recorder, origin }: Side, factor: number): Promise<Work[]> {
  const schedules = await sql<{ id: string; key: string; group: string | null }[]>`
    select id, key, group_key as "group" from carillon.schedules`;
  const byId = new Map(schedules.map((each) => [each.id, each]));
  const real = (at: number) => origin + (at - origin) / factor;
  return recorder.claims.flatMap(({ claimedAt, leaseUntil, settleSentAt, jobs }) =>
    jobs.flatMap(({ scheduleId, occurrence }) => {
      const { key, group } = byId.get(scheduleId) ?? { key: scheduleId, group: null };
      const until = Math.min(leaseUntil, settleSentAt ?? leaseUntil);
      return [{ key, group, occurrence, from: real(claimedAt), until: real(until) }];
    }),
  );
}

/** The grain of the clocks in real milliseconds. */
const grainMs = 5;

function overlaps(work: readonly Work[], of: (work: Work) => string, rule: string): string[] {
  return [...Map.groupBy(work, of)].flatMap(([name, all]) => {
    const sorted = all.toSorted((a, b) => a.from - b.from);
    let last: Work | undefined;
    return sorted.flatMap((each) => {
      const before = last;
      if (last === undefined || each.until > last.until) last = each;
      return before !== undefined && each.from < before.until - grainMs
        ? [
            `${rule}: ${name} ${nameOf(before.key, before.occurrence)} and ${nameOf(each.key, each.occurrence)}`,
          ]
        : [];
    });
  });
}
