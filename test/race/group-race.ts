import { setTimeout as pause } from "node:timers/promises";
import type { Sql } from "../../lib/db/connect.ts";
import { patchSchedule, putSchedule } from "../../lib/edit/schedule-edits.ts";
import { pauseSchedule, resumeSchedule } from "../../lib/edit/schedule-holds.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { Refusal } from "../../lib/refusal.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { killer, ticker, type World, worker } from "./actors.ts";
import { type Claim, claimRecorder } from "./claims.ts";
import { speedUp } from "./fast-clock.ts";
import { factor, isGrouped, type JobRow, judgeJobs, judgeLeases, judgeOnce } from "./judge-groups.ts";
import { counted, type Ended, isReached, type RaceVolume } from "./lane-race.ts";
import { connectThrough } from "./lines.ts";
import { memoryQueues } from "./memory-queues.ts";
import { diceOf, seeded } from "./seeded.ts";
import { untilSettled, whileItMoves } from "./until-settled.ts";

export interface GroupVolume extends RaceVolume {
  together: number;
}

export interface GroupRaceReport {
  /** Jobs by lane and state. */
  ended: Ended;
  /** The most jobs that a grouped handler got together. */
  together: number;
  killed: number;
  deaths: number;
  violations: string[];
}

const serialGroups = ["one", "two"];
const groupedGroups = ["red", "blue"];
const caller = { name: "ann" };
const retry = { attempts: 100, base: "1s", max: "2s" };

interface Member {
  key: string;
  when: string;
  body: object;
}

/**
 * Serial schedules and those of a grouped handler, three to a group, each in a shard of its own,
 * with and without an overlap rule.
 */
const members: readonly Member[] = [
  ...serialGroups.flatMap((group) => [
    { key: `${group}:1`, when: "every 10s", body: { group, serial: true, target: { queue: "race" } } },
    { key: `${group}:2`, when: "every 15s", body: { group, serial: true, target: { handler: "race" } } },
    {
      key: `${group}:3`,
      when: "every 12s",
      body: { group, serial: true, overlap: "queue", target: { queue: "race" } },
    },
  ]),
  ...groupedGroups.flatMap((group) =>
    [6, 8, 9].map((n) => ({
      key: `${group}:${n}`,
      when: `every ${n}s`,
      body: { group, target: { handler: "gather" } },
    })),
  ),
];

/** Schedules without expected jobs, which compete with the others all the time. */
const wanderers = ["wanderer:1", "wanderer:2"];

/**
 * Groups across shards, on workers that die, lose their connections, outlive their leases, and have
 * their messages lost, doubled and reordered, while other schedules join and leave the groups. Then
 * the faults stop until no due job is waiting, and the ledger is judged.
 */
export async function groupRace(
  databaseUrl: string,
  seed: number,
  { volume, wandering }: { volume: GroupVolume; wandering: boolean },
): Promise<GroupRaceReport> {
  const bystander = connectThrough(databaseUrl, (line) => line, { max: 2, applicationName: "bystander" });
  const clock = await speedUp(bystander, factor);
  await bystander`alter table carillon.schedules alter column id set increment by 4`;
  const recorder = claimRecorder(clock);
  const keys = members.map(({ key }) => key);
  const world: World = {
    clock,
    recorder,
    dice: diceOf(seeded(seed)),
    queues: memoryQueues(clock, 30_000),
    shards: [1, 5, 9, 13],
    keys,
    acknowledged: [],
    unexpected: [],
    state: { editing: wandering, faults: true, ticksStalled: false, fired: false, over: false },
    counts: { ticks: 0, edits: 0, unknownEdits: 0, deaths: 0, killed: 0, stalls: 0 },
  };
  const own: Sql[] = [];
  const connected = () => {
    const sql = connectThrough(databaseUrl, recorder.wrap, { max: 2, applicationName: "race" });
    own.push(sql);
    return sql;
  };
  const deps = { sql: bystander, queue: world.queues.sender() };
  await noteMaking(bystander);
  await bystander`select carillon.note_grouped(array['handler/gather'], array[true])`;
  for (const { key, when, body } of members)
    await putSchedule(deps, {
      key,
      caller,
      body: parseScheduleBody({ ...body, when, retry, payload: { edit: 0 } }),
    });
  const running = [
    ticker(world, connected()),
    ...Array.from({ length: 6 }, () => worker(world, connected())),
  ];
  const killing = killer(world, bystander);
  const wanderings = wanderers.map((key) => wander(world, deps, key));
  const isEnough = async () =>
    isReached(volume.atFirst, endedByLane(await readJobs(bystander, clock.now()))) &&
    mostTogether(recorder.claims, await readLanes(bystander)) >= volume.together;
  while (!(await isEnough())) await pause(50);
  world.state.editing = false;
  await Promise.all(wanderings);
  for (const key of [...keys, ...(wandering ? wanderers : [])]) {
    if (wandering) await resumeSchedule(deps, { key, caller });
    await patchSchedule(deps, { key, caller, patch: { when: "every 1d" } });
  }
  const end = clock.now();
  const { counts } = world;
  await whileItMoves(
    bystander,
    end,
    async () => counts.killed >= volume.killed && counts.deaths >= volume.deaths,
  );
  world.state.faults = false;
  await killing;
  await untilSettled(bystander, end);
  world.state.over = true;
  await Promise.all(running);
  const jobs = await readJobs(bystander, end);
  const laneOf = new Map(jobs.map(({ scheduleId, lane }) => [scheduleId, lane]));
  const violations = [
    ...world.unexpected.map((each) => `unexpected: ${each}`),
    ...judgeJobs(jobs),
    ...judgeLeases(recorder.claims, laneOf),
    ...judgeOnce(recorder.claims),
    ...(await leftBehind(bystander, end)),
  ];
  await Promise.all([...own, bystander].map((sql) => sql.end()));
  const { killed, deaths } = counts;
  const together = mostTogether(recorder.claims, laneOf);
  return { ended: endedByLane(jobs), together, killed, deaths, violations };
}

function endedByLane(jobs: readonly JobRow[]): Ended {
  return counted(jobs.map(({ lane, state }) => ({ of: lane, state })));
}

/** The most jobs that a grouped handler got with one claim. */
function mostTogether(claims: readonly Claim[], laneOf: ReadonlyMap<string, string>): number {
  return Math.max(
    0,
    ...claims.map(({ jobs }) => jobs.filter(({ scheduleId }) => isGrouped(laneOf.get(scheduleId))).length),
  );
}

async function readLanes(sql: Sql): Promise<Map<string, string>> {
  const rows = await sql<{ id: string; lane: string }[]>`
    select id, lane from carillon.schedules where key = any(${members.map(({ key }) => key)}::text[])`;
  return new Map(rows.map(({ id, lane }) => [id, lane]));
}

/**
 * Makes one random edit of a wandering schedule: it joins or leaves a group, or is paused, resumed
 * or fired.
 */
async function wander(world: World, deps: Parameters<typeof putSchedule>[0], key: string): Promise<void> {
  const { dice, state } = world;
  const body = () => ({
    when: `every ${dice.between(3, 9)}s`,
    target: dice.chance(0.5) ? { queue: "race" } : { handler: "gather" },
    group: dice.pick([...serialGroups, ...groupedGroups]),
    serial: dice.chance(0.8),
    overlap: dice.pick(["allow", "queue", "skip"] as const),
    retry,
    payload: { edit: 0 },
  });
  if (state.editing) await putSchedule(deps, { key, caller, body: parseScheduleBody(body()) });
  while (state.editing) {
    const end = new Date(world.clock.now().getTime() + dice.between(30_000, 90_000));
    const lot = dice.between(1, 10);
    const act = async () => {
      if (lot <= 4) await putSchedule(deps, { key, caller, body: parseScheduleBody(body()) });
      else if (lot <= 6) await pauseSchedule(deps, { key, caller, until: end });
      else if (lot <= 8) await resumeSchedule(deps, { key, caller });
      else await fireNow(deps, { key, caller });
    };
    await act().catch((error: unknown) => {
      // The pause's end had already passed.
      if (!(error instanceof Refusal)) throw error;
    });
    await pause(dice.between(5, 80));
  }
}

/** The members' jobs, in the order in which a lane passes them. */
async function readJobs(sql: Sql, end: Date): Promise<JobRow[]> {
  const ms = (column: string) => sql.unsafe(`(extract(epoch from ${column}) * 1000)::float8`);
  return sql<JobRow[]>`
    select s.key, s.id as "scheduleId", s.lane, ${ms("j.due_at")} as "dueAt", ${ms("m.made_at")} as "madeAt", m.made_by::text as "madeBy", j.state, j.reason, ${ms("m.passed_at")} as "passedAt", m.seen::text,
      ${ms("j.finished_at")} as "finishedAt"
    from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id
    join public.race_made m on m.occurrence = j.occurrence and m.schedule_id = j.schedule_id
    where j.due_at <= ${end} and j.kind = 'cadence' and s.key = any(${members.map(({ key }) => key)}::text[])
    order by j.due_at, j.occurrence, j.schedule_id`;
}

/**
 * Records when each job of a cadence is made, and when it first passes its group's lane: from then
 * on it has the turn, even when its worker dies.
 */
async function noteMaking(sql: Sql): Promise<void> {
  await sql.unsafe(`
    create table public.race_made (
      occurrence timestamptz(3), schedule_id bigint, made_at timestamptz(3) default carillon.clock(), made_by xid8 default pg_current_xact_id(), passed_at timestamptz(3), seen pg_snapshot, primary key (occurrence, schedule_id));
    create function public.race_made() returns trigger language plpgsql as $$
    begin
      insert into public.race_made (occurrence, schedule_id) values (new.occurrence, new.schedule_id) on conflict do nothing;
      return null;
    end $$;
    create trigger race_made after insert on carillon.jobs for each row when (new.kind = 'cadence') execute function public.race_made();
    create function public.race_passed() returns trigger language plpgsql as $$
    begin
      update public.race_made set passed_at = carillon.clock(), seen = pg_current_snapshot()
      where occurrence = new.occurrence and schedule_id = new.schedule_id and passed_at is null;
      return null;
    end $$;
    create trigger race_passed after update on carillon.lane_entries for each row
      when (new.entered and not old.entered and new.kind = 'cadence' and new.lane like 'group/%') execute function public.race_passed()`);
}

async function leftBehind(sql: Sql, end: Date): Promise<string[]> {
  const parked = await sql`select from carillon.parcels where lane is not null`;
  const [deadlocks] = await sql<{ count: number }[]>`
    select deadlocks::int as count from pg_stat_database where datname = current_database()`;
  const entries = await sql`
    select from carillon.lane_entries e join carillon.schedules s on s.id = e.schedule_id
    where e.due_at <= ${end} and s.key = any(${members.map(({ key }) => key)}::text[]) and exists (
      select from carillon.jobs j
      where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n and j.state <> 'waiting')`;
  return [
    ...(parked.length === 0 ? [] : [`${parked.length} jobs still wait in lanes`]),
    ...(entries.length === 0 ? [] : [`left behind: ${entries.length} entries`]),
    ...((deadlocks?.count ?? 0) === 0 ? [] : [`deadlocks: ${deadlocks?.count}`]),
  ];
}
