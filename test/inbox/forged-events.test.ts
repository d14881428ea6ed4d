import { afterAll, beforeAll, expect, test } from "vitest";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { type InboxWorld, inboxWorld } from "./inbox-world.ts";

let world: InboxWorld;
beforeAll(async () => {
  world = await inboxWorld();
});
afterAll(() => world.stop());

test("a tick refuses each command of a database user that asks for events of another sender", async () => {
  const events = [
    { source: "billing" },
    { source: "AWS.ec2" },
    { detailType: "carillon.job.dead" },
    { detailType: " Carillon.job.dead" },
  ];
  const keys = events.map((_, n) => `kept:${n}`);
  for (const key of keys) await world.put(key, { when: "every 1h", target: { event: {} } });
  for (const [n, event] of events.entries()) {
    const put = JSON.stringify({ key: `made:${n}`, when: "every 1h", target: { event } });
    const patch = JSON.stringify({ key: keys[n], target: { event } });
    await world.caller.sql`select carillon.put_schedule(${put}::text::jsonb)`;
    await world.caller.sql`select carillon.patch_schedule(${patch}::text::jsonb)`;
  }
  await world.tick();
  expect(await world.waiting()).toBe(0);
  expect((await world.refused()).map(({ key }) => key).toSorted()).toEqual(
    [...keys, ...events.map((_, n) => `made:${n}`)].toSorted(),
  );
  for (const key of keys)
    expect(await readSchedule(world.sql, key)).toMatchObject({
      version: 1,
      body: { target: { event: { source: "carillon", detailType: "carillon.job.due" } } },
    });
});
