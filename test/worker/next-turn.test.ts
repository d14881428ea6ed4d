import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type OutgoingParcel, parcelMessage } from "../../lib/parcel/parcel-queue.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { done, failed } from "../../lib/target/delivery.ts";
import { goOnMs, nextTurn } from "../../lib/worker/next-turn.ts";
import { due, dueOnce, parcels, swept, workerOf } from "../parcel/limit-world.ts";
import { aborted } from "../support/aborted.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { manualClock } from "../support/manual-clock.ts";
import { until } from "../support/until.ts";
import { watchedWorker } from "../support/watched-worker.ts";

/**
 * After a settle a worker goes on with a parcel to which the settle gave the turn, without a
 * message.
 */

describe("the parcel that a worker keeps", () => {
  const parcel = (id: string, more: Partial<OutgoingParcel> = {}): OutgoingParcel => ({
    id,
    queue: "slow",
    waitMs: 0,
    ...more,
  });

  test.each([
    { name: "the first parcel that may start", of: [parcel("1"), parcel("2")], keeps: "1" },
    { name: "no parcel that has to wait", of: [parcel("1", { waitMs: 5 }), parcel("2")], keeps: "2" },
    { name: "no parcel of the other queue", of: [parcel("1", { queue: "fast" })], keeps: undefined },
    { name: "no parcel if there is none", of: [], keeps: undefined },
  ])("a worker whose settle lets parcels start keeps $name", ({ of, keeps }) => {
    const next = nextTurn(manualClock(due.toISOString()), "slow");
    expect(next.keep(of)).toEqual(of.filter(({ id }) => id !== keeps));
    expect(next.take()?.id).toBe(keeps);
    expect(next.take()).toBeUndefined();
  });

  test("a worker keeps one parcel at a time, for two seconds", async () => {
    const clock = manualClock(due.toISOString());
    const next = nextTurn(clock, "slow");
    next.keep([parcel("1")]);
    expect(next.keep([parcel("2")])).toEqual([parcel("2")]);
    next.take();
    await clock.advance(goOnMs - 1);
    expect(next.keep([parcel("3")])).toEqual([]);
    next.take();
    await clock.advance(1);
    expect(next.keep([parcel("4")])).toEqual([parcel("4")]);
    expect(next.take()).toBeUndefined();
  });
});

describe("a worker after a settle", () => {
  let world: Carillon;

  beforeEach(async () => {
    world = await carillon();
  });

  afterEach(() => world.stop());

  /** Parcels that wait at a target with a window of one, and the first one's message. */
  async function waitingBehindOne(count: number): Promise<void> {
    world.window = 1;
    await dueOnce(world, "a", count * 10);
    await world.tick();
    await world.clock.setNow(due);
    const all = await parcels(world);
    const { claim, claimed } = workerOf(world, 1);
    const first = await claimed(all[0]?.id ?? "");
    for (const { id } of all.slice(1)) await claim(id);
    await world.sql`update carillon.parcels set lease_until = null, claimed_at = null, turn = 'granted' where id = ${first.id}`;
    world.queue.messages = [];
    world.queue.put("slow", parcelMessage(first.id));
  }

  /** Loses every message that is sent. */
  function losing(): string[] {
    const sent: string[] = [];
    world.queue.fate = ({ MessageBody }) => {
      sent.push(MessageBody ?? "");
      return "lost";
    };
    return sent;
  }

  test("a worker goes on with parcels that wait at its target, without their messages", async () => {
    await waitingBehindOne(4);
    const sent = losing();
    expect(await world.work()).toEqual([]);
    expect(world.delivered).toHaveLength(40);
    expect(sent).toEqual([]);
    expect(await parcels(world)).toEqual([]);
  });

  test("a worker hands over the next parcel after two seconds, so that no other target waits for it longer", async () => {
    await waitingBehindOne(4);
    const sent = losing();
    world.outcome = async ({ key }) => {
      if (key.endsWith("9")) await world.clock.advance(second);
      return done;
    };
    expect(await world.work()).toEqual([]);
    expect(world.delivered).toHaveLength(20);
    const granted = (await parcels(world)).filter(({ turn }) => turn === "granted").map(({ id }) => id);
    expect(granted).toHaveLength(1);
    expect(sent).toEqual(granted.map(parcelMessage));
  });

  test("a worker goes on after a failed job, and leaves the retry to its time", async () => {
    await waitingBehindOne(2);
    losing();
    world.outcome = ({ key }) => (key === "a-000" ? failed("not today") : done);
    expect(await world.work()).toEqual([]);
    expect(world.delivered).toHaveLength(20);
    expect((await world.jobs("a-000"))[0]).toMatchObject({ state: "waiting", attempt: 1 });
    expect(await parcels(world)).toHaveLength(1);
  });

  test("while a worker waits for its own parcel's time, it keeps no parcel that its other work lets start", async () => {
    await dueOnce(world, "a", 20);
    await dueOnce(world, "b", 10, { target: { handler: "a" } }, at(minute + 3 * second));
    await world.tick();
    const [, two = "", early = ""] = (await parcels(world)).map(({ id }) => id);
    await world.clock.setNow(due);
    world.window = 1;
    world.queue.messages = [];
    world.queue.put("slow", parcelMessage(early));
    const sent = losing();
    world.outcome = async () => {
      // The second parcel begins to wait while the first is worked.
      if (world.delivered.length === 10)
        expect(await workerOf(world, 1).claim(two)).toMatchObject({ outcome: "held" });
      return done;
    };
    const sleep = async (ms: number, signal?: AbortSignal) => {
      if (signal !== undefined) return aborted(signal);
      await until("the parcel with the turn is sent", async () => sent.length > 0);
      await world.clock.advance(ms);
    };
    world.more.worker = { clock: { now: world.clock.now, sleep } };
    expect(await world.work()).toEqual([]);
    expect(sent[0]).toBe(parcelMessage(two));
  });

  test("a parcel that a rate lets start later is sent with the wait that is left", async () => {
    await world.sql`insert into carillon.targets (name, concurrency, rate_count, rate_ms) values ('handler/a', 1, 1, 10000)`;
    await dueOnce(world, "a", 2);
    await world.tick();
    await world.clock.setNow(due);
    const [one = "", two = ""] = (await parcels(world)).map(({ id }) => id);
    const { claim, claimed } = workerOf(world);
    const first = await claimed(one);
    await claim(two);
    await world.sql`
      update carillon.parcels set turn = 'waits', turn_at = ${due}, ready_at = 'infinity', offer_at = 'infinity', slots = null, slot_at = null
      where id = ${two}`;
    const { outgoing } = await settleParcel(world.sql, first, [{ kind: "succeeded" }]);
    expect(outgoing).toEqual([{ id: two, queue: "slow", waitMs: 10_000 }]);
  });

  test("a worker goes on with the next jobs of a lane, without their messages", async () => {
    await world.put("a", { when: "every 10s", overlap: "queue" });
    await world.tick();
    await world.clock.setNow(at(30 * second));
    const [first = "", ...others] = (await parcels(world)).slice(0, 3).map(({ id }) => id);
    world.queue.messages = [];
    world.queue.put("fast", parcelMessage(first));
    const sent = losing();
    world.outcome = async () => {
      for (const id of others.splice(0))
        expect(await workerOf(world).claim(id)).toMatchObject({ outcome: "empty" });
      return done;
    };
    expect(await world.work()).toEqual([]);
    expect(world.delivered.map(({ occurrence }) => occurrence)).toEqual(
      [1, 2, 3].map((n) => at(n * 10 * second).toISOString()),
    );
    expect(sent).toEqual([]);
  });

  test("a worker that fails hands over the parcel that it has kept", async () => {
    await waitingBehindOne(2);
    const sent = losing();
    world.more.worker.events = {
      started: async () => {},
      settled: () => Promise.reject(new Error("broken")),
      ended: async () => {},
    };
    expect(await world.work()).toHaveLength(1);
    const kept = (await parcels(world)).map(({ id }) => parcelMessage(id));
    expect(kept).toHaveLength(1);
    expect(sent).toEqual(kept);
  });

  test("a worker that cannot claim the parcel that it has kept leaves it to the sweep", async () => {
    await waitingBehindOne(2);
    const sent = losing();
    const worker = watchedWorker(world, 1);
    worker.arrives = (name) =>
      name !== "claim_parcel" || worker.asked.filter((each) => each === name).length < 2;
    expect(await world.work()).toHaveLength(1);
    await worker.sql.end();
    expect(world.delivered).toHaveLength(10);
    expect(sent).toEqual([]);
    await world.clock.advance(minute);
    const left = (await parcels(world)).map(({ id }) => id);
    expect(left).toHaveLength(1);
    expect(await swept(world)).toEqual(left);
  });
});
