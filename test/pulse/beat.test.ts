import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { failed } from "../../lib/target/delivery.ts";
import { at, minute, second } from "../support/instants.ts";
import { type BeatWorld, beatWorld } from "./beat-world.ts";

let world: BeatWorld;

beforeEach(async () => {
  world = await beatWorld();
});

afterEach(() => world.stop());

const iso = (ms: number) => at(ms).toISOString();

describe("a pulse", () => {
  test("a pulse is sent at each of its seconds and at no other, for any interval", async () => {
    await world.store([
      { id: 1, every: 10 },
      { id: 2, every: 17, offset: 3 },
      { id: 3, every: 60, offset: 59, lag: 40 },
      { id: 4, every: 3_600, offset: 30 },
      { id: 5, every: 86_400, offset: 86_399 },
      { id: 20, every: 17, offset: 3 },
    ]);
    await world.runSeconds(180);
    for (const id of [1, 2, 3, 4, 5, 20])
      expect(world.secondsOf(id), `pulse ${id}`).toEqual(world.dueOf(id, 180));
    expect(world.sent.filter(({ sentAt, due }) => sentAt < due)).toEqual([]);
    // All parcels are settled, and no pulse is recorded as passed over.
    expect(await world.sql`select from carillon.parcels where pulse_at <= carillon.clock()`).toEqual([]);
    expect(await world.sql`select from carillon.pulses_passed`).toEqual([]);
  });

  test("a pulse has the id of its occurrence, which its spread does not move", async () => {
    await world.store([{ id: 3, every: 60, offset: 50, lag: 40 }]);
    await world.runSeconds(60);
    expect(world.sent).toMatchObject([{ id: `3-${at(10 * second).getTime()}-c0`, due: iso(50 * second) }]);
  });

  test("a pulse that is held, has ended or has not begun is not sent", async () => {
    await world.store([
      { id: 1, every: 1, starts: null },
      { id: 2, every: 1, ends: 3 },
      { id: 3, every: 1, starts: 4, ends: 6 },
    ]);
    await world.runSeconds(5);
    expect(world.secondsOf(1)).toEqual([]);
    expect(world.secondsOf(2)).toEqual([1, 2]);
    expect(world.secondsOf(3)).toEqual([4, 5]);
  });

  test("a pulse is sent as its row is at its second, and not at all if the row is gone", async () => {
    await world.store([
      { id: 1, every: 10 },
      { id: 2, every: 10 },
    ]);
    await world.runSeconds(15);
    await world.sql`update carillon.pulses set rest = replace(rest, '"a"', '"b"') where schedule_id = 1`;
    await world.sql`delete from carillon.pulses where schedule_id = 2`;
    await world.runSeconds(10);
    expect(world.sent.map(({ id, data }) => [id.split("-")[0], data])).toEqual(
      expect.arrayContaining([
        ["1", "a"],
        ["2", "a"],
        ["1", "b"],
      ]),
    );
    expect(world.sent).toHaveLength(3);
  });
});

describe("the tick", () => {
  test("ticks side by side make one parcel for each second of a shard that has a pulse", async () => {
    await world.store([
      { id: 1, every: 60, offset: 20 },
      { id: 17, every: 60, offset: 20 },
      { id: 2, every: 90 },
    ]);
    await Promise.all([world.tick(), world.tick(), world.tick()]);
    await world.tick();
    const parcels = await world.sql`
      select shard, pulse_at as at, ready_at = pulse_at as ready from carillon.parcels order by shard, pulse_at`;
    expect(parcels).toEqual([
      { shard: 1, at: at(20 * second), ready: true },
      { shard: 1, at: at(80 * second), ready: true },
      { shard: 1, at: at(140 * second), ready: true },
      { shard: 2, at: at(90 * second), ready: true },
      { shard: 2, at: at(180 * second), ready: true },
    ]);
  });

  test("a late tick sends the pulses of the last two minutes, and reports earlier ones as missed", async () => {
    await world.store([{ id: 1, every: 10 }]);
    await world.tick();
    await world.sql`delete from carillon.parcels`;
    await world.clock.setNow(at(20 * minute));
    await world.tick();
    await world.work();
    expect(world.secondsOf(1)).toEqual(Array.from({ length: 13 }, (_, n) => 18 * 60 + n * 10));
    expect(
      await world.sql`select from_at, to_at, shard, reason, target_id, count from carillon.pulses_passed`,
    ).toEqual([
      {
        from_at: at(181 * second),
        to_at: at(18 * minute - second),
        shard: 1,
        reason: "missed",
        target_id: null,
        count: null,
      },
    ]);
    expect(world.log.lines).toMatchObject([
      { event: "pulse.passed-over", fields: { shard: 1, seconds: 899 } },
      { event: "tick.outage-over", fields: { what: "tick" } },
    ]);
  });

  test("a late tick reports nothing for shards without a pulse, and a first pulse there gets parcels only beyond the tick's horizon", async () => {
    await world.clock.setNow(at(60 * minute));
    await world.tick();
    const reached = await world.sql`select distinct pulsed_to as at from carillon.shards`;
    expect(reached).toEqual([{ at: at(63 * minute) }]);
    await world.store([{ id: 1, every: 30 }]);
    await world.clock.setNow(at(61 * minute));
    await world.tick();
    expect(await world.sql`select from carillon.pulses_passed`).toEqual([]);
    expect(await world.sql`select pulse_at as at from carillon.parcels order by 1`).toEqual([
      { at: at(63 * minute + 30 * second) },
      { at: at(64 * minute) },
    ]);
  });

  test("the tick makes parcels only for seconds with a pulse, or for every second if finding them would take long", async () => {
    const many = Array.from({ length: 100 }, (_, n) => ({
      id: 16 * n + 16,
      every: 3_600 + n,
      offset: (n * 37) % 3_600,
    }));
    await world.store(many);
    await world.tick();
    const made = await world.sql<{ second: number }[]>`
      select extract(epoch from pulse_at - ${at(0)})::int as second from carillon.parcels order by 1`;
    const due = new Set(many.flatMap(({ id }) => world.dueOf(id, 180)));
    expect(made.map((each) => each.second)).toEqual([...due].sort((a, b) => a - b));
    const [all] = await world.sql`
      select count(*)::int as seconds from carillon.pulse_seconds(0, ${at(0).getTime() / 1000}, ${at(179 * second).getTime() / 1000}, 100)`;
    expect(all).toEqual({ seconds: 180 });
  });
});

describe("a worker", () => {
  test("a worker of pulses waits out the last second and starts none early", async () => {
    await world.store([{ id: 1, every: 60, offset: 20 }]);
    await world.tick();
    await world.clock.setNow(at(19 * second));
    await world.work();
    expect(world.sent).toMatchObject([{ id: `1-${at(20 * second).getTime()}-c0`, sentAt: iso(20 * second) }]);
  });

  test("a worker that dies is followed by another, which sends the same pulses once more", async () => {
    await world.store([{ id: 1, every: 600, offset: 20 }]);
    await world.tick();
    await world.clock.setNow(at(20 * second));
    world.fate = () => "dies";
    expect(await world.work()).toHaveLength(1);
    world.fate = () => "taken";
    await world.clock.advance(70 * second);
    await world.tick();
    await world.work();
    expect(world.sent.map(({ id }) => id)).toEqual([`1-${at(20 * second).getTime()}-c0`]);
    expect(await world.sql`select from carillon.parcels`).toEqual([]);
  });

  test("a second at which each worker dies is given up and reported", async () => {
    await world.store([{ id: 1, every: 600, offset: 20 }]);
    await world.tick();
    await world.clock.setNow(at(20 * second));
    world.fate = () => "dies";
    let deaths = 0;
    for (; deaths < 20; deaths++) {
      if ((await world.work()).length === 0) break;
      await world.clock.advance(70 * second);
      await world.tick();
    }
    expect(deaths).toBe(6);
    expect(
      await world.sql`select reason from carillon.pulses_passed where from_at = ${at(20 * second)}`,
    ).toEqual([{ reason: "crashed" }]);
  });

  test("a worker does not settle a parcel that another has taken over", async () => {
    await world.store([{ id: 1, every: 600, offset: 20 }]);
    await world.tick();
    await world.clock.setNow(at(20 * second));
    const first = await claimParcel(world.sql, await world.onlyParcel(), 1_000);
    expect(first).toMatchObject({ outcome: "pulses", shard: 1, targets: null, after: null, lastTry: false });
    expect(await claimParcel(world.sql, await world.onlyParcel(), 1_000)).toMatchObject({
      outcome: "leased",
    });
    await world.clock.advance(2_000);
    expect(await claimParcel(world.sql, await world.onlyParcel(), 1_000)).toMatchObject({ outcome: "ended" });
    await world.clock.advance(70 * second);
    await world.tick();
    await world.work();
    if (first.outcome !== "pulses") throw new Error(first.outcome);
    const settled = await world.sql`
      select settled from carillon.settle_pulses(${first.id}, ${first.fence}, 1, '{}', '{}', null, null, '{}', '{}', null, null, '{}', '{}')`;
    expect(settled).toEqual([{ settled: false }]);
    expect(world.sent).toHaveLength(1);
  });

  test("pulses that no worker claims within two minutes are not sent, and are reported", async () => {
    await world.store([{ id: 1, every: 600, offset: 20 }]);
    await world.tick();
    await world.clock.setNow(at(20 * second + 2 * minute + 1));
    await world.work();
    expect(world.sent).toEqual([]);
    expect(await world.sql`select from_at, to_at, reason from carillon.pulses_passed`).toEqual([
      { from_at: at(20 * second), to_at: at(20 * second), reason: "late" },
    ]);
    expect(await world.sql`select from carillon.parcels where pulse_at < carillon.clock()`).toEqual([]);
  });

  test("a worker reads pulses page by page, limited by number and by size", async () => {
    await world.storeMany(5_000, { every: 60, offset: 20 });
    await world.storeMany(300, { every: 30, offset: 20, first: 100_001, text: "x".repeat(20_000) });
    await world.runSeconds(20);
    expect(new Set(world.sent.map(({ id }) => id)).size).toBe(5_300);
    expect(world.sent).toHaveLength(5_300);
    expect(world.calls.length).toBeGreaterThanOrEqual(6);
    expect(Math.max(...world.calls)).toBeLessThanOrEqual(2_000);
  });

  test("a worker that has time for one page leaves the other pulses to the next worker, and none is sent twice", async () => {
    await world.storeMany(5_000, { every: 60, offset: 20 });
    await world.tick();
    await world.clock.setNow(at(20 * second));
    await world.work(9_000);
    expect(world.sent.length).toBe(5_000);
    expect(new Set(world.sent.map(({ id }) => id)).size).toBe(5_000);
    expect(world.calls).toEqual([2_000, 2_000, 1_000]);
    // Each page is settled before the next one is read: if an invocation ended between the two, all
    // pulses of the second would go once more.
    expect(
      await world.sql`select pulses::int from carillon.tallies where pulses is not null order by pulses desc`,
    ).toEqual([2_000, 2_000, 1_000].map((pulses) => ({ pulses })));
  });
});

describe("a target that does not take pulses", () => {
  test("a target that takes no pulses does not delay the others, and its own pulses are retried apart", async () => {
    await world.store([
      { id: 1, every: 600, offset: 20, queue: "gone" },
      { id: 17, every: 600, offset: 20, queue: "there" },
    ]);
    await world.tick();
    await world.clock.setNow(at(20 * second));
    world.fate = (queue) => (queue === "gone" ? failed("not now") : "taken");
    await world.work();
    expect(world.sent.map(({ id }) => id.split("-")[0])).toEqual(["17"]);
    expect(world.log.lines.map(({ event }) => event)).toEqual(["pulse.failed"]);
    world.fate = () => "taken";
    await world.clock.advance(6 * second);
    await world.work();
    expect(world.sent.map(({ id }) => id.split("-")[0])).toEqual(["17", "1"]);
    expect(await world.sql`select from carillon.parcels`).toEqual([]);
  });

  test("a target that takes no pulses is tried three times by the first worker and once by each of five more, at growing intervals; then its pulses are given up, reported and counted", async () => {
    await world.storeMany(3, { every: 600, offset: 20, queue: "gone" });
    await world.tick();
    await world.clock.setNow(at(20 * second));
    world.fate = () => failed("never");
    const asked: number[] = [];
    for (let step = 0; step < 300 && asked.length < 6; step++) {
      const before = world.calls.length;
      await world.work();
      if (world.calls.length > before) {
        asked.push(Math.floor((world.clock.now().getTime() - at(0).getTime()) / second));
        // With three tries by each, a team whose pulses all fail would have eighteen requests made for each.
        expect(world.calls.length - before).toBe(asked.length === 1 ? 3 : 1);
      }
      await world.clock.advance(second);
    }
    // Each interval is up to a second longer by the pauses within the work.
    const pauses = asked.slice(1).map((each, index) => each - (asked[index] ?? 0));
    expect(pauses.map((each, index) => each - 5 * 2 ** index)).toEqual(
      pauses.map(() => expect.toBeOneOf([0, 1])),
    );
    expect(asked).toHaveLength(6);
    expect(
      await world.sql`select from_at, reason, count, target_id is not null as named from carillon.pulses_passed`,
    ).toEqual([{ from_at: at(20 * second), reason: "failed", count: "3", named: true }]);
    expect(world.log.lines.at(-1)).toMatchObject({ event: "pulse.given-up", fields: { pulses: 3 } });
    await world.tick();
    expect(
      await world.sql`select sum(pulses)::int as pulses, sum(pulses_lost)::int as lost from carillon.minutes`,
    ).toEqual([{ pulses: 0, lost: 3 }]);
  });

  test("a target that will never take pulses is not retried", async () => {
    await world.storeMany(3, { every: 600, offset: 20 });
    await world.tick();
    await world.clock.setNow(at(20 * second));
    world.fate = () => failed("one of our own", true);
    await world.work();
    expect(world.calls).toEqual([3]);
    expect(await world.sql`select reason, count from carillon.pulses_passed`).toEqual([
      { reason: "refused", count: "3" },
    ]);
    expect(await world.sql`select from carillon.parcels`).toEqual([]);
    expect(world.log.lines).toMatchObject([{ event: "pulse.given-up", fields: { error: "one of our own" } }]);
  });
});

test("sent pulses are counted with their lateness", async () => {
  await world.storeMany(40, { every: 60, offset: 20 });
  await world.tick();
  await world.clock.setNow(at(20 * second + 500));
  await world.work();
  await world.tick();
  expect(await world.sql`select pulses, pulses_lost from carillon.minutes where pulses > 0`).toEqual([
    { pulses: "40", pulses_lost: "0" },
  ]);
  expect(await world.sql`select bucket, pulses from carillon.minute_pulse_lateness`).toEqual([
    { bucket: 1 + Math.floor(Math.log(500) / Math.log(1.1)), pulses: "40" },
  ]);
});
