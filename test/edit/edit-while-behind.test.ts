import { afterEach, beforeEach, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import type { Operation } from "../../lib/batch/operation.ts";
import { fireShardBatch } from "../../lib/tick/fire/shard-batch.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";

/**
 * Edits after a long time without a tick. Overdue occurrences of the old version are lost unless
 * the edit makes their jobs.
 */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  // All in shard 1.
  await world.sql`alter table carillon.schedules alter column id set increment by 16`;
});

afterEach(() => world.stop());

const patches = (...keys: string[]) =>
  keys.map((key): Operation => ({ kind: "patch", key, patch: { payload: "new" }, caller: { name: "ann" } }));

const ways: readonly [string, () => Promise<unknown>][] = [
  ["by itself", () => world.patch("far", { payload: "new" })],
  ["in a batch", () => applyOperations({ sql: world.sql, queue: world.queue }, patches("far", "beside"))],
];

test.each(ways)(
  "an edit %s runs an occurrence planned far ahead that became due while no tick ran",
  async (_way, edit) => {
    // The occurrence waits in the far plan, which only a tick moves near: an edit that does not
    // read it loses the run.
    await world.put("far", { when: "at 2026-03-06T10:00:00Z" });
    await world.put("beside", { when: "at 2026-04-06T10:00:00Z" });
    await world.clock.setNow(new Date("2026-03-06T10:10:00Z"));
    await edit();
    await world.work();
    await world.tick();
    await world.work();
    expect(world.delivered.map(({ key, occurrence }) => [key, occurrence])).toEqual([
      ["far", "2026-03-06T10:00:00.000Z"],
    ]);
  },
);

test("an edit between two batches of a late tick notes skipped occurrences once", async () => {
  // Both schedules are due at the watermark: the batch has taken the first, but not yet the second.
  const often = { when: "every 5s", catchUp: { policy: "skip" } };
  await world.put("taken", often);
  await world.put("left", often);
  await world.clock.advance(10 * minute);
  await fireShardBatch(world.sql, 1, 1, world.queue.timing);
  await world.patch("taken", { payload: "new" });
  await world.patch("left", { payload: "new" });
  await world.tick();
  const ranges = await world.sql`
    select s.key, p.from_at as "from" from carillon.passed_over p join carillon.schedules s on s.id = p.schedule_id order by s.id`;
  expect(ranges).toEqual([
    { key: "taken", from: at(5 * second) },
    { key: "left", from: at(5 * second) },
  ]);
});

test("an edit that makes a spread smaller runs the occurrences that become due by it at once", async () => {
  // The new due time lies in the past: with `skip` the next tick would skip the run.
  const keys = Array.from({ length: 8 }, (_, n) => `moved-${n}`);
  for (const key of keys)
    await world.put(key, { when: "0 11 * * *", spread: "59m", catchUp: { policy: "skip" } });
  await world.clock.setNow(at("11:01:00"));
  for (const key of keys) await world.patch(key, { spread: "1s" });
  await world.work();
  await world.clock.setNow(at("11:30:00"));
  await world.tick();
  await world.work();
  expect(world.delivered.map(({ key }) => key).sort()).toEqual(keys);
});

test("an edit of a schedule whose fires are used up plans no further occurrence", async () => {
  await world.put("limited", { when: "every 1m", maxFires: 2 });
  await world.tick();
  await world.clock.advance(5 * minute);
  await world.work();
  await world.patch("limited", { payload: "new" });
  const planned = await world.sql`
    select from (select * from carillon.plan union all select * from carillon.plan_far) p
    join carillon.schedules s on s.id = p.schedule_id and s.version = p.version`;
  expect(planned).toEqual([]);
  expect(await world.jobs()).toHaveLength(2);
});

test("an edit of the cadence while no tick ran makes no more jobs than `maxFires` allows", async () => {
  // 10:45 is not due yet at the edit. The old cadence keeps it, if runs are left.
  const body = { when: "*/5 * * * *", slot: "10m", catchUp: { policy: "all" }, maxFires: 2 };
  await world.put("limited", body);
  await world.clock.setNow(at("10:47:00"));
  await world.put("limited", { ...body, when: "*/3 * * * *" });
  await world.tick();
  expect((await world.jobs()).map(({ occurrence }) => occurrence)).toEqual([at("10:05:00"), at("10:10:00")]);
});
