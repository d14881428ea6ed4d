import { afterAll, beforeAll, expect, test } from "vitest";
import { type InboxWorld, inboxWorld } from "./inbox-world.ts";

let world: InboxWorld;
beforeAll(async () => {
  world = await inboxWorld();
  await world.tick();
});
afterAll(() => world.stop());

const many = 10_000;

test("ten thousand commands of one transaction are applied by one tick", async () => {
  const writing = performance.now();
  await world.caller.sql`
    select count(carillon.put_schedule(jsonb_build_object('key', concat('many-', n), 'when', 'in 3h', 'target', '{"queue": "demo"}'::jsonb, 'payload', n)))
    from generate_series(1, ${many}::int) n`;
  const applying = performance.now();
  await world.tick();
  const done = performance.now();
  expect(await world.waiting()).toBe(0);
  const [row] = await world.sql<{ n: number }[]>`
    select count(*)::int as n from carillon.schedules where key like 'many-%' and version = 1`;
  expect(row?.n).toBe(many);
  const perSecond = (ms: number) => Math.round((many * 1_000) / ms);
  process.stdout.write(
    `inbox: ${perSecond(applying - writing)} commands/s written, ${perSecond(done - applying)} commands/s applied\n`,
  );
});
