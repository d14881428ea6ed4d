import { setTimeout as pause } from "node:timers/promises";
import { drive } from "../../lib/cli/move/drive.ts";
import type { Clock } from "../../lib/clock.ts";
import { acceptanceOf } from "../../lib/command/acceptance.ts";
import { allowedTargetsFrom } from "../../lib/command/allowed-targets.ts";
import type { Sql } from "../../lib/db/connect.ts";
import { patchSchedule, putSchedule } from "../../lib/edit/schedule-edits.ts";
import { silentLog } from "../../lib/log/log.ts";
import { destinationSteps, sourceSteps } from "../../lib/move/move-steps.ts";
import { movedPartShape } from "../../lib/move/moved-doc.ts";
import { beginArrival, beginMove } from "../../lib/move/moves.ts";
import { Refusal } from "../../lib/refusal.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { Died, enduring, isExpected, killer, ticker, type World, worker } from "./actors.ts";
import { type ClaimRecorder, claimRecorder } from "./claims.ts";
import { speedUp } from "./fast-clock.ts";
import { judgeMoves } from "./judge-moves.ts";
import { connectThrough } from "./lines.ts";
import { memoryQueues } from "./memory-queues.ts";
import { type Dice, diceOf, seeded } from "./seeded.ts";

export interface MoveRaceOptions {
  /** The databases of two installations. */
  databaseUrls: readonly [string, string];
  seed: number;
  /** Whole moves of all schedules, there and back by turns. */
  moves: number;
  /** Replaces a step of every driver, for a mutant. */
  mutate?: (steps: Steps) => Steps;
}

export interface MoveRaceReport {
  seed: number;
  expected: number;
  claims: number;
  moved: number;
  diedDrivers: number;
  killed: number;
  violations: string[];
}

/** One of the two installations. */
export interface Side {
  name: string;
  sql: Sql;
  own: Sql[];
  clock: Clock;
  /** The real time at which its fast clock began. */
  origin: number;
  recorder: ClaimRecorder;
  world: World;
  /** A connection of an actor, which may be killed. */
  open(max?: number): Sql;
}

type Steps = ReturnType<typeof stepsOf>;

const caller = { name: "mover", reach: { prefix: "", team: "" } };
const factor = 40;
const prefix = "race:";

/**
 * Ticks, workers and edits in two installations, with every kind of fault, while all schedules move
 * from one to the other and back. Drivers die before and after any step, and others go on.
 */
export async function moveRace({
  databaseUrls,
  seed,
  moves,
  mutate = (steps) => steps,
}: MoveRaceOptions): Promise<MoveRaceReport> {
  const dice = diceOf(seeded(seed));
  const sides = await Promise.all(
    databaseUrls.map((url, index) => openSide(url, index === 0 ? "old" : "new", dice)),
  );
  const [old, other] = sides;
  if (old === undefined || other === undefined) throw new Error("A move needs two installations.");
  await putAll(old, dice);
  const worlds = sides.map(({ world }) => world);
  const running = sides.flatMap(({ world, open }) => [
    ticker(world, open(2)),
    ticker(world, open(2)),
    worker(world, open(2)),
    worker(world, open(2)),
    worker(world, open(2)),
  ]);
  const killing = sides.map(({ world, sql }) => killer(world, sql));
  const editing = patcher(sides, dice);
  const counts = { died: 0 };
  for (let n = 0; n < moves; n++) {
    const [from, to] = n % 2 === 0 ? [old, other] : [other, old];
    await moveOnce(from, to, { dice, counts, mutate, peer: `https://${to.name}.example` });
    await pause(dice.between(50, 400));
  }
  for (const { state } of worlds) Object.assign(state, { editing: false, faults: false });
  await Promise.all([...killing, editing]);
  const end = Math.min(...sides.map(({ clock }) => clock.now().getTime()));
  await untilHealed(sides, end);
  for (const { state } of worlds) state.over = true;
  await Promise.all(running);
  const verdict = await judgeMoves(sides, { end, factor });
  await Promise.all(sides.flatMap(({ own, sql }) => [...own, sql].map((each) => each.end())));
  verdict.violations.push(
    ...worlds.flatMap(({ unexpected }) => unexpected.map((each) => `unexpected: ${each}`)),
  );
  return {
    seed,
    ...verdict,
    diedDrivers: counts.died,
    killed: worlds.reduce((sum, world) => sum + world.counts.killed, 0),
  };
}

async function openSide(url: string, name: string, dice: Dice): Promise<Side> {
  const sql = connectThrough(url, (line) => line, { max: 2, applicationName: "bystander" });
  const clock = await speedUp(sql, factor);
  await sql`alter table carillon.schedules alter column id set increment by 8`;
  const recorder = claimRecorder(clock);
  const own: Sql[] = [];
  const world: World = {
    clock,
    recorder,
    dice,
    queues: memoryQueues(clock, 30_000),
    shards: [1, 9],
    keys: [],
    acknowledged: [],
    unexpected: [],
    state: { editing: true, faults: true, ticksStalled: false, fired: false, over: false },
    counts: { ticks: 0, edits: 0, unknownEdits: 0, deaths: 0, killed: 0, stalls: 0 },
  };
  const open = (max = 1) => {
    const made = connectThrough(url, (line, onLost) => recorder.wrap(line, onLost), {
      max,
      applicationName: "race",
    });
    own.push(made);
    return made;
  };
  return { name, sql, own, clock, origin: clock.origin, recorder, world, open };
}

/** Schedules of every kind whose occurrences the judge can tell from the request. */
async function putAll({ sql, world, clock }: Side, dice: Dice): Promise<void> {
  const now = clock.now().getTime();
  const retry = { attempts: 100, base: "1s", max: "5s" };
  const catchUp = { policy: "all", limit: 10_000 };
  const bodies: Record<string, object> = {};
  for (let n = 0; n < 8; n++) bodies[`interval-${n}`] = { when: `every ${dice.between(3, 15)}s` };
  for (let n = 0; n < 3; n++)
    bodies[`queued-${n}`] = { when: `every ${dice.between(8, 20)}s`, overlap: "queue" };
  for (let n = 0; n < 4; n++)
    bodies[`member-${n}`] = { when: `every ${dice.between(10, 25)}s`, group: "race:g", serial: true };
  for (let n = 0; n < 20; n++)
    bodies[`once-${n}`] = { when: `at ${new Date(now + dice.between(10, 900) * 1_000).toISOString()}` };
  bodies["cron"] = { when: "*/10 * * * * *" };
  for (const [name, body] of Object.entries(bodies)) {
    const target = name.startsWith("member") || dice.chance(0.5) ? { handler: "race" } : { queue: "race" };
    await putSchedule(
      { sql, queue: world.queues.sender() },
      {
        key: `${prefix}${name}`,
        caller,
        body: parseScheduleBody({ target, retry, catchUp, payload: { edit: 1 }, ...body }),
      },
    );
  }
}

/** Edits of payloads, at whichever installation has the schedule. */
async function patcher(sides: readonly Side[], dice: Dice): Promise<void> {
  const [first] = sides;
  const lines = sides.map(({ open }) => open());
  for (let edit = 2; first?.world.state.editing === true; edit++) {
    const key = `${prefix}interval-${dice.between(0, 7)}`;
    for (const [index, { world }] of sides.entries()) {
      const sql = lines[index];
      if (sql === undefined) continue;
      await enduring(world, "patcher", async () => {
        try {
          await patchSchedule(
            { sql, queue: world.queues.sender() },
            { key, caller, patch: { payload: { edit } } },
          );
        } catch (error) {
          if (!(error instanceof Refusal)) throw error;
        }
      });
    }
    await pause(dice.between(20, 100));
  }
}

interface MoveMeans {
  dice: Dice;
  counts: { died: number };
  mutate: (steps: Steps) => Steps;
  peer: string;
}

/** One whole move, by as many drivers as it takes. */
async function moveOnce(from: Side, to: Side, { dice, counts, mutate, peer }: MoveMeans): Promise<void> {
  const [source, destination] = [from.open(2), to.open(2)];
  for (;;) {
    try {
      const move = await beginMove(source, { prefix, peer, caller });
      await beginArrival(destination, { id: move.id, prefix, peer: `https://${from.name}.example`, caller });
      const steps = mutate(stepsOf({ from, to, source, destination, id: move.id }));
      const mortal = dying(steps, from, dice, counts);
      const options = {
        page: dice.between(3, 15),
        waitMs: 20_000,
        sleep: (ms: number) => pause(ms / factor),
        now: () => Date.now(),
        report: () => {},
      };
      const { left } = await drive(mortal.source, mortal.destination, options);
      if (left.size > 0) continue;
      await mortal.source.close();
      await drive(mortal.source, mortal.destination, options);
      await mortal.source.end({ abandon: false });
      await mortal.destination.end();
      return;
    } catch (error) {
      if (error instanceof Refusal) await pause(50);
      else if (!isExpected(error)) throw error;
    }
  }
}

function stepsOf({
  from,
  to,
  source,
  destination,
  id,
}: {
  from: Side;
  to: Side;
  source: Sql;
  destination: Sql;
  id: string;
}) {
  const accept = acceptanceOf({
    handlers: [{ name: "race", schema: null }],
    targets: allowedTargetsFrom({ AWS_REGION: "eu-central-1" }),
  });
  const here = { accept, log: silentLog };
  const out = sourceSteps({ ...here, sql: source, queue: from.world.queues.sender() }, id, caller);
  const into = destinationSteps({ ...here, sql: destination, queue: to.world.queues.sender() }, id, caller);
  return {
    source: { ...out, parts: async () => (await out.parts()).map((part) => movedPartShape.parse(part)) },
    destination: {
      ...into,
      bring: (parts: readonly unknown[]) => into.bring(parts.map((part) => movedPartShape.parse(part))),
    },
  };
}

/** The same steps; now and then the driver dies before or after one. */
function dying(steps: Steps, { world }: Side, dice: Dice, counts: { died: number }): Steps {
  const mortal = <Name extends string>(of: Record<Name, (...args: never[]) => Promise<unknown>>) =>
    Object.fromEntries(
      Object.entries<(...args: never[]) => Promise<unknown>>(of).map(([name, step]) => [
        name,
        async (...args: never[]) => {
          if (world.state.faults && dice.chance(0.06)) return perish(name);
          const done = await step(...args);
          if (world.state.faults && dice.chance(0.06)) return perish(name);
          return done;
        },
      ]),
    );
  const perish = (name: string): never => {
    counts.died += 1;
    throw new Died(`at the step ${name}`);
  };
  return { source: mortal(steps.source), destination: mortal(steps.destination) } as Steps;
}

/** Waits until all that was due by the end has ended, in both installations. */
async function untilHealed(sides: readonly Side[], end: number): Promise<void> {
  let fewest = Number.POSITIVE_INFINITY;
  for (let still = 0; still < 600; still++) {
    await pause(100);
    let waiting = 0;
    for (const { sql, world } of sides) {
      const [row] = await sql<{ fired: boolean; waiting: number }[]>`
        select not exists (select from carillon.shards where watermark_at <= ${new Date(end)}) as fired,
          (select count(*)::int from carillon.jobs where state = 'waiting' and due_at <= ${new Date(end)})
          + (select coalesce(sum(owing), 0)::int from carillon.backlog) as waiting`;
      world.state.fired = false;
      waiting += (row?.waiting ?? 1) + (row?.fired === true ? 0 : 1);
    }
    if (waiting === 0) return;
    if (waiting < fewest) still = 0;
    fewest = Math.min(fewest, waiting);
  }
}

/** A report in one line, with the seed that reproduces it. */
export function lineOfMoves({
  seed,
  expected,
  claims,
  moved,
  diedDrivers,
  killed,
  violations,
}: MoveRaceReport): string {
  const kinds = [...Map.groupBy(violations, (each) => each.slice(0, each.indexOf(":")))].map(
    ([kind, all]) => `${kind} ${all.length}`,
  );
  return (
    `seed ${seed}: ${expected} expected, ${claims} claims, ${moved} schedules moved, ${diedDrivers} drivers dead, ${killed} connections killed: ` +
    (kinds.length === 0 ? "nothing broken" : kinds.join(", "))
  );
}
