import type postgres from "postgres";

export interface DrillLedger {
  name: string;
  asked: { key: string; firstAt: number; everyMs: number }[];
  jobs: { key: string; occurrence: number; state: string; reason: string | null; startedAt: number | null }[];
  live: number;
}

export async function readDrill(sql: postgres.Sql, name: string, prefix: string): Promise<DrillLedger> {
  const asked = await sql<DrillLedger["asked"]>`
    select distinct on (s.key) s.key, (extract(epoch from v.first_at) * 1000)::float8 as "firstAt", v.every_ms::float8 as "everyMs"
    from carillon.schedules s join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
    where starts_with(s.key, ${prefix}) order by s.key, s.id`;
  const jobs = await sql<DrillLedger["jobs"]>`
    select s.key, (extract(epoch from j.occurrence) * 1000)::float8 as occurrence, j.state, j.reason,
      (extract(epoch from j.started_at) * 1000)::float8 as "startedAt"
    from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id where starts_with(s.key, ${prefix})`;
  const [row] = await sql<{ live: number }[]>`
    select count(*)::int as live from carillon.schedules where deleted_at is null and starts_with(key, ${prefix})`;
  return { name, asked: [...asked], jobs: [...jobs], live: row?.live ?? 0 };
}

interface Span {
  from: number;
  to: number;
}

/** Every occurrence up to the end has succeeded once, in one of the two ledgers. */
export function judgeDrill(
  ledgers: readonly DrillLedger[],
  { end, moved }: { end: number; moved: Span },
): { lines: string[]; violations: string[] } {
  const asked = new Map(
    ledgers.toReversed().flatMap((each) => each.asked.map((one) => [one.key, one] as const)),
  );
  const all = Map.groupBy(
    ledgers.flatMap(({ name, jobs }) => jobs.map((job) => ({ ...job, name }))),
    placeOf,
  );
  const violations: string[] = [];
  let expected = 0;
  const late: number[] = [];
  for (const { key, firstAt, everyMs } of asked.values())
    for (let at = firstAt; at <= end; at += everyMs) {
      expected += 1;
      const jobs = all.get(placeOf({ key, occurrence: at })) ?? [];
      const done = jobs.filter(({ state }) => state === "succeeded");
      const said = jobs
        .map(({ name, state, reason }) => `${name} ${state} ${reason ?? ""}`.trim())
        .join(", ");
      if (done.length !== 1)
        violations.push(`${key} of ${new Date(at).toISOString()} succeeded ${done.length} times (${said})`);
      const [only] = done;
      if (only?.startedAt != null && at >= moved.from && at <= moved.to) late.push(only.startedAt - at);
    }
  const [old, other] = ledgers;
  if (old?.live !== 0) violations.push(`${old?.live ?? "?"} schedules are left in the old installation`);
  late.sort((one, other) => one - other);
  const at = (share: number) =>
    `${((late[Math.floor((late.length - 1) * share)] ?? 0) / 1_000).toFixed(2)} s`;
  return {
    lines: [
      `ok  ${other?.live ?? 0} schedules in the new installation, ${old?.live ?? 0} in the old one`,
      `${violations.length === 0 ? "ok " : "FAILED"} ${expected} occurrences, ${violations.length} of them lost or doubled`,
      `    ${late.length} of them during the move started late: p50 ${at(0.5)}, p99 ${at(0.99)}, at most ${at(1)}`,
    ],
    violations,
  };
}

const placeOf = ({ key, occurrence }: { key: string; occurrence: number }) => `${key}@${occurrence}`;
