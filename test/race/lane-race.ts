import { setTimeout as pause } from "node:timers/promises";
import type { Sql } from "../../lib/db/connect.ts";
import { patchSchedule, putSchedule } from "../../lib/edit/schedule-edits.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { killer, ticker, type World, worker } from "./actors.ts";
import { claimRecorder } from "./claims.ts";
import { speedUp } from "./fast-clock.ts";
import { judgeLanes } from "./judge-lanes.ts";
import { type JobRow, type Ledger, readLedger } from "./ledger.ts";
import { connectThrough } from "./lines.ts";
import { memoryQueues } from "./memory-queues.ts";
import { diceOf, seeded } from "./seeded.ts";
import { untilSettled, whileItMoves } from "./until-settled.ts";

/**
 * Jobs by rule or lane and state, such as "queue succeeded"; "queue made" counts those that were
 * due and not passed over.
 */
export type Ended = Record<string, number>;

/** The race runs until all of these numbers are reached, which takes longer on a slow machine. */
export interface RaceVolume {
  /**
   * After this many no more jobs are made, so that a slow machine has no more work than a quick
   * one.
   */
  atFirst: Ended;
  /** After this many no more faults are injected. */
  killed: number;
  deaths: number;
}

export interface LaneRaceReport {
  ended: Ended;
  killed: number;
  deaths: number;
  violations: string[];
}

const factor = 60;
const grainMs = 5 * factor;
const rules = ["queue", "skip", "allow"] as const;

/**
 * Two schedules of each overlap rule, due each second or two, on workers that die, lose their
 * connections, outlive their leases, and have their messages lost, doubled and reordered. Then the
 * faults stop until no due job is waiting, and the ledger is judged.
 */
export async function laneRace(
  databaseUrl: string,
  seed: number,
  volume: RaceVolume,
): Promise<LaneRaceReport> {
  const bystander = connectThrough(databaseUrl, (line) => line, { max: 2, applicationName: "bystander" });
  const clock = await speedUp(bystander, factor);
  await bystander`alter table carillon.schedules alter column id set increment by 16`;
  const recorder = claimRecorder(clock);
  const keys = rules.flatMap((rule) => [1, 2].map((n) => `${rule}:${n}`));
  const world: World = {
    clock,
    recorder,
    dice: diceOf(seeded(seed)),
    queues: memoryQueues(clock, 30_000),
    shards: [1],
    keys,
    acknowledged: [],
    unexpected: [],
    state: { editing: false, faults: true, ticksStalled: false, fired: false, over: false },
    counts: { ticks: 0, edits: 0, unknownEdits: 0, deaths: 0, killed: 0, stalls: 0 },
  };
  const own: Sql[] = [];
  const connected = () => {
    const wrap = recorder.wrap;
    const sql = connectThrough(databaseUrl, wrap, { max: 2, applicationName: "race" });
    own.push(sql);
    return sql;
  };
  const deps = { sql: bystander, queue: world.queues.sender() };
  const caller = { name: "ann" };
  for (const [index, rule] of rules.entries()) {
    for (const n of [1, 2]) {
      const target = n === 1 ? { queue: "race" } : { handler: "race" };
      const retry = { attempts: 100, base: "1s", max: "2s" };
      const body = { when: `every ${n}s`, overlap: rule, target, retry, payload: { edit: index } };
      await putSchedule(deps, { key: `${rule}:${n}`, caller, body: parseScheduleBody(body) });
    }
  }
  const running = [
    ticker(world, connected()),
    ...Array.from({ length: 6 }, () => worker(world, connected())),
  ];
  const killing = killer(world, bystander);
  while (!isReached(volume.atFirst, await endedByRule(bystander, clock.now()))) await pause(50);
  for (const key of keys) await patchSchedule(deps, { key, caller, patch: { when: "every 1d" } });
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
  const ledger = await readLedger(bystander, end);
  const violations = [
    ...world.unexpected.map((each) => `unexpected: ${each}`),
    ...judgeLedger(ledger),
    ...judgeLanes(
      recorder.claims,
      Map.groupBy(ledger.versions, ({ scheduleId }) => scheduleId),
      grainMs,
    ),
    ...(await leftBehind(bystander, end)),
  ];
  const ended = await endedByRule(bystander, end);
  await Promise.all([...own, bystander].map((sql) => sql.end()));
  const { killed, deaths } = counts;
  return { ended, killed, deaths, violations };
}

async function endedByRule(sql: Sql, end: Date): Promise<Ended> {
  return counted(
    await sql<{ of: string; state: string }[]>`
      select split_part(s.key, ':', 1) as of, j.state from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id
      where j.due_at <= ${end}`,
  );
}

export function counted(jobs: readonly { of: string; state: string }[]): Ended {
  const ended: Ended = {};
  const add = (name: string) => {
    ended[name] = (ended[name] ?? 0) + 1;
  };
  for (const { of, state } of jobs) {
    add(`${of} ${state}`);
    if (state !== "skipped") add(`${of} made`);
  }
  return ended;
}

export function isReached(volume: Ended, ended: Ended): boolean {
  return Object.entries(volume).every(([name, least]) => (ended[name] ?? 0) >= least);
}

/**
 * There was no deadlock, and each job ended in a state that its rule allows. Under a rule against
 * overlaps each job also started after the one before had ended, by the database's own clock.
 */
function judgeLedger({ jobs, versions, deadlocks }: Ledger): string[] {
  const ruleOf = new Map(versions.map(({ scheduleId, overlap }) => [scheduleId, overlap]));
  const violations = deadlocks > 0 ? [`deadlock: ${deadlocks}`] : [];
  for (const [scheduleId, own] of Map.groupBy(jobs, (job) => job.scheduleId)) {
    const rule = ruleOf.get(scheduleId);
    const inOrder = own.toSorted((a, b) => a.occurrence - b.occurrence);
    violations.push(...inOrder.flatMap((job) => judgeEnd(job, rule)));
    if (rule === "allow") continue;
    const ran = inOrder.filter(({ state }) => state === "succeeded");
    for (const [index, { startedAt, occurrence }] of ran.entries()) {
      const before = ran[index - 1];
      if (before !== undefined && (before.finishedAt ?? 0) > (startedAt ?? 0))
        violations.push(
          `out of turn: ${scheduleId} at ${occurrence} started before ${before.occurrence} had ended`,
        );
    }
  }
  return violations;
}

function judgeEnd({ scheduleId, occurrence, state, reason }: JobRow, rule: string | undefined): string[] {
  // No tick is stalled on purpose here, but on a busy machine one may come two minutes of this
  // clock, which are two seconds, late.
  const wasMissed = reason === "missed";
  const maySkip = state === "skipped" && (wasMissed || (rule === "skip" && reason === "overlap"));
  return state === "succeeded" || maySkip ? [] : [`${state}: ${scheduleId} at ${occurrence} (${reason})`];
}

/** A settled job leaves no row in a lane, except those that the next job to pass removes. */
async function leftBehind(sql: Sql, end: Date): Promise<string[]> {
  const entries = await sql`
    select from carillon.lane_entries e where due_at <= ${end} and exists (select from carillon.jobs j
      where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n and j.state <> 'waiting')`;
  return entries.length === 0 ? [] : [`left behind: ${entries.length} entries`];
}
