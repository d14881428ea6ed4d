import { afterAll, beforeAll, expect, test } from "vitest";
import type { Clock } from "../../lib/clock.ts";
import { pulseTargets } from "../../lib/pulse/pulse-targets.ts";
import { done, failed, type Sent } from "../../lib/target/delivery.ts";
import type { QueueMessage } from "../../lib/target/send-messages.ts";
import { pulseSender } from "../../lib/target/send-pulses.ts";
import { type Dice, diceOf, seeded } from "../race/seeded.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute, second } from "../support/instants.ts";
import { emptied, type PulseRow, pulseRows } from "./pulse-rows.ts";

let world: Carillon;

beforeAll(async () => {
  world = await carillon();
});
afterAll(() => world.stop());

const keys = Array.from({ length: 8 }, (_, n) => `pulse-${n}`);

/** A version of a pulse's row and the instant from which it applied; null while there is no row. */
interface Stood {
  from: number;
  row: PulseRow | null;
  edit: number;
}

/** Compares the pulses that arithmetic expects from a row with those that were sent. */
class Judge {
  readonly history = new Map<string, Stood[]>();
  readonly sent = new Map<string, number>();
  readonly wrong: string[] = [];
  edits = 0;

  note(row: PulseRow | null, id: string, edit: number): void {
    const own = this.history.get(id) ?? [];
    own.push({ from: world.clock.now().getTime(), row, edit });
    this.history.set(id, own);
  }

  /** Edits and work take turns here, so a pulse is compared with the row of this moment. */
  goes({ body, id }: QueueMessage): void {
    const [, schedule = "", occurrence] = /^(\d+)-(\d+)-c0$/.exec(id) ?? [];
    const { time, data }: { time: string; data: { edit: number } } = JSON.parse(body);
    const stands = this.history.get(schedule)?.at(-1);
    const due = Date.parse(time) / second;
    const fault = (what: string) =>
      this.wrong.push(`${id} of ${time} at ${world.clock.now().toISOString()}: ${what}`);
    if (world.clock.now().getTime() < due * second) fault("early");
    if (!isDue(stands?.row ?? null, due)) fault("not due by its row");
    if (stands?.edit !== data.edit) fault(`edit ${data.edit} instead of ${stands?.edit}`);
    if (Number(occurrence) !== (due - (stands?.row?.lagS ?? 0)) * second) fault("another id");
    const name = `${schedule}/${due}`;
    this.sent.set(name, (this.sent.get(name) ?? 0) + 1);
  }

  /**
   * Counts the pulses that were due by then and stayed due after every later edit (`owed`), and
   * lists those of them that were neither sent nor reported (`lost`).
   */
  verdict(until: number, passed: readonly { shard: number; from: number; to: number }[]) {
    const lost: string[] = [];
    let owed = 0;
    for (const [schedule, stood] of this.history) {
      for (const [index, { from, row }] of stood.entries()) {
        const end = Math.min(stood[index + 1]?.from ?? until, until);
        for (let due = Math.floor(from / second) + 1; due * second <= end; due++) {
          if (!stood.slice(index).every((later) => isDue(later.row, due))) continue;
          owed += 1;
          if (this.sent.has(`${schedule}/${due}`)) continue;
          if (!passed.some(({ shard, from: first, to }) => shard === row?.shard && first <= due && due <= to))
            lost.push(`${schedule} of ${new Date(due * second).toISOString()}`);
        }
      }
    }
    return { lost, owed };
  }
}

function isDue(row: PulseRow | null, due: number): boolean {
  if (row?.startsS == null) return false;
  return (
    due >= row.startsS && due < (row.endsS ?? Number.POSITIVE_INFINITY) && due % row.everyS === row.offsetS
  );
}

async function change(judge: Judge, dice: Dice): Promise<void> {
  const key = dice.pick(keys);
  const before = (await pulseRows(world.sql)).find((row) => row.key === key) ?? null;
  const edit = ++judge.edits;
  const paused = before?.startsS === null;
  const soon = world.clock.now().getTime() + dice.between(1, 90) * second;
  const every = dice.pick(["5s", "7s", "30s", "1m", "90s"]);
  const body = {
    when: `every ${every}`,
    delivery: "pulse",
    payload: { edit },
    ...(dice.chance(0.3) ? { spread: "0s" } : {}),
  };
  let says = edit;
  if (before === null || dice.chance(0.1)) await world.put(key, body);
  else if (!paused && dice.chance(0.75)) await world.patch(key, { payload: { edit } });
  else {
    says = judge.history.get(before.id)?.at(-1)?.edit ?? 0;
    if (paused) await world.resume(key);
    else if (dice.chance(0.3)) await world.remove(key);
    else await world.pause(key, dice.chance(0.5) ? { until: new Date(soon) } : {});
  }
  const after = (await pulseRows(world.sql)).find((row) => row.key === key) ?? null;
  if (before !== null && after?.id !== before.id) judge.note(null, before.id, 0);
  if (after !== null) judge.note(after, after.id, says);
}

/**
 * Faults of messages and of workers: some messages are lost, doubled or refused, and workers die
 * before and after a send.
 */
function sending(judge: Judge, dice: Dice, faults: { on: boolean; afterSend: number }) {
  return async (messages: readonly QueueMessage[]): Promise<Sent[]> => {
    if (faults.on && dice.chance(0.05)) throw new Error("died before the send");
    const sent = messages.map((message) => {
      if (faults.on && dice.chance(0.1)) return failed("not now");
      judge.goes(message);
      return done;
    });
    if (faults.on && dice.chance(faults.afterSend)) throw new Error("died after the send");
    return sent;
  };
}

/**
 * A clock for several waits at once, each with its own end: a shorter wait does not turn the time
 * back.
 */
function patient(): Clock {
  let turn = Promise.resolve();
  return {
    now: world.clock.now,
    sleep: (ms) => {
      const until = world.clock.now().getTime() + ms;
      turn = turn.then(async () => {
        if (world.clock.now().getTime() < until) await world.clock.setNow(new Date(until));
      });
      return turn;
    },
  };
}

test.each([1, 4])(
  "no pulse is lost, early, or different from its row, with faults of every kind (%i)",
  async (seed) => {
    await emptied(world);
    await world.sql`truncate carillon.pulses_passed`;
    const dice = diceOf(seeded(seed));
    // A separate source for the faults: how often it is used depends on the machine's speed, which
    // must not change the edits.
    const luck = diceOf(seeded(seed + 100));
    const judge = new Judge();
    const faults = { on: true, afterSend: 0.05 };
    world.more.worker = {
      clock: patient(),
      pulses: {
        targets: pulseTargets(world.sql),
        send: pulseSender({ send: sending(judge, luck, faults), put: async () => [] }),
      },
    };
    world.queue.fate = () =>
      !faults.on || luck.chance(0.85) ? "arrives" : luck.pick(["lost", "twice", "refused", "unanswered"]);
    let stalledUntil = 0;
    for (let step = 0; step < 80; step++) {
      const now = world.clock.now().getTime();
      if (dice.chance(0.02)) stalledUntil = now + dice.between(60, 400) * second;
      if (now >= stalledUntil && dice.chance(0.35))
        await Promise.all(Array.from({ length: dice.chance(0.3) ? 2 : 1 }, () => world.tick()));
      if (dice.chance(0.3)) await change(judge, dice);
      if (dice.chance(0.6)) await world.work();
      await world.clock.advance(dice.between(1, 12_000));
    }
    const someWentTwice = () => [...judge.sent.values()].some((times) => times > 1);
    // It may be that no worker has died after a send so far: from here on every worker does.
    faults.afterSend = 1;
    for (let more = 0; more < 20 && !someWentTwice(); more++) {
      await world.tick();
      await world.work();
      await world.clock.advance(minute);
    }
    const until = world.clock.now().getTime();
    faults.on = false;
    for (let rest = 0; rest < 12; rest++) {
      await world.tick();
      await world.work();
      await world.clock.advance(minute);
    }
    const passed = await world.sql<{ shard: number; from: number; to: number }[]>`
    select shard, extract(epoch from from_at)::float8 as from, extract(epoch from to_at)::float8 as to from carillon.pulses_passed`;
    const { lost, owed } = judge.verdict(until, passed);
    expect({ wrong: judge.wrong, lost }).toEqual({ wrong: [], lost: [] });
    expect(owed).toBeGreaterThan(60);
    // Several hundred pulses are sent; a tenth of them is enough to show that the race took place.
    expect(judge.sent.size).toBeGreaterThan(40);
    expect(someWentTwice()).toBe(true);
  },
  120_000,
);
