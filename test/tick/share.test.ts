import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ticksMax } from "../../lib/config/function-limits.ts";
import { shardCount } from "../../lib/plan/shard.ts";
import { inTurn, shardsOf, shareOf, type TickShare } from "../../lib/tick/share.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";

describe("the share of a tick", () => {
  const time = "2026-03-02T10:00:00Z";

  test.each([1, 2, 3, 5, 16])("Each shard is in the share of exactly one of %i ticks", (ticks) => {
    const shards = Array.from({ length: ticks }, (_, tick) => [
      ...inTurn(shardsOf(shareOf({ ticks, tick, time }))),
    ]).flat();
    expect(shards.toSorted((a, b) => a - b)).toEqual(Array.from({ length: shardCount }, (_, n) => n));
  });

  test("A share has at least one shard, however many ticks may run", () => {
    expect(ticksMax).toBe(shardCount);
  });

  test("A share moves to another tick each minute, and returns after every tick has had it", () => {
    const of = 3;
    const shares = [0, 1, 2, 3].map(
      (minutes) => shareOf({ ticks: of, tick: 1, time: `2026-03-02T10:0${minutes}:59+02:00` }).share,
    );
    expect(new Set(shares.slice(0, of)).size).toBe(of);
    expect(shares[3]).toBe(shares[0]);
  });

  test("An event without a share means the whole tick", () => {
    const scheduled = { source: "aws.events", "detail-type": "Scheduled Event", time };
    for (const event of [scheduled, {}, null, "tick"]) expect(shareOf(event)).toEqual({ share: 0, of: 1 });
  });

  test.each([
    { ticks: 2, tick: 2, time },
    { ticks: 0, tick: 0, time },
    { ticks: shardCount + 1, tick: 0, time },
    { ticks: 2, tick: 0.5, time },
    { ticks: 2, tick: 0, time: "now" },
    { ticks: 2, tick: 0 },
    { ticks: 2, tick: 0, time, shards: [1] },
  ])("An event with an impossible share is refused: %j", (event) => {
    expect(() => shareOf(event)).toThrow(/The tick's event is invalid: \w*:? ?\w+/);
  });
});

describe("ticks side by side", () => {
  const of = 3;
  const schedules = 32;
  let world: Carillon;
  beforeEach(async () => {
    world = await carillon();
    for (let index = 0; index < schedules; index++)
      await world.put(`order:${index}`, { when: index % 2 === 0 ? "every 1m" : "* * * * *" });
  });
  afterEach(() => world.stop());

  /** As the rule starts them: each tick gets its number and the minute. */
  const start = (ticks: readonly number[]) =>
    Promise.all(
      ticks.map((each) =>
        world.tick({ share: shareOf({ ticks: of, tick: each, time: world.clock.now().toISOString() }) }),
      ),
    );
  const shardsWith = async (jobs: "made" | "all") => {
    const rows = await world.sql<{ shard: number }[]>`
      select distinct s.shard from carillon.schedules s
      where ${jobs === "all"} or exists (select from carillon.jobs j where j.schedule_id = s.id) order by 1`;
    return rows.map(({ shard }) => shard);
  };

  test("Concurrent ticks make every job once, and each only the jobs of its share", async () => {
    const made = await start([0, 1, 2]);
    for (const { jobs } of made) expect(jobs).toBeGreaterThan(0);
    expect(made.reduce((sum, { jobs }) => sum + jobs, 0)).toBe(schedules * 3);
    expect(await world.jobs()).toHaveLength(schedules * 3);
    expect(await world.work()).toEqual([]);
    await world.clock.advance(3 * minute);
    await world.work();
    const delivered = world.delivered.map(({ key, occurrence }) => `${key} ${occurrence}`);
    expect(new Set(delivered).size).toBe(schedules * 3);
    expect(delivered).toHaveLength(schedules * 3);
  });

  test("Concurrent ticks lose nothing if one never runs: in the next minute, another has its share", async () => {
    await start([0, 1]);
    const missing = (await shardsWith("all")).length - (await shardsWith("made")).length;
    expect(missing).toBeGreaterThan(0);
    await world.clock.advance(minute);
    await start([0, 1]);
    expect(await shardsWith("made")).toEqual(await shardsWith("all"));
    await world.clock.advance(minute);
    await world.work();
    expect(world.delivered).toHaveLength(schedules * 2);
  });

  test("One of the concurrent ticks does the housekeeping, another one each minute", async () => {
    const minutes: number[] = [];
    for (let passed = 0; passed < of; passed++) {
      const keepers = (await start([0, 1, 2])).flatMap(({ rolledUp }, index) =>
        rolledUp === undefined ? [] : [index],
      );
      expect(keepers).toHaveLength(1);
      minutes.push(...keepers);
      await world.clock.advance(minute);
    }
    expect(minutes.toSorted()).toEqual([0, 1, 2]);
  });
});

test("The shares of ticks differ by one shard at most if the shards cannot be divided evenly", () => {
  const uneven: TickShare[] = [0, 1, 2].map((share) => ({ share, of: 3 }));
  expect(uneven.map((share) => shardsOf(share).length).toSorted()).toEqual([5, 5, 6]);
});
