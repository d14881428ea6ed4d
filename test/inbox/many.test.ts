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
  await world.caller.sql`
    select count(carillon.put_schedule(jsonb_build_object('key', concat('many-', n), 'when', 'in 3h', 'target', '{"queue": "demo"}'::jsonb, 'payload', n)))
    from generate_series(1, ${many}::int) n`;
  await world.tick();
  expect(await world.waiting()).toBe(0);
  const [row] = await world.sql<{ n: number }[]>`
    select count(*)::int as n from carillon.schedules where key like 'many-%' and version = 1`;
  expect(row?.n).toBe(many);
});
