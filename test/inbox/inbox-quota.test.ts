import { afterAll, beforeAll, expect, test } from "vitest";
import { defineQuotas } from "../../lib/quota/define-quotas.ts";
import { type InboxWorld, inboxWorld } from "./inbox-world.ts";

let world: InboxWorld;
beforeAll(async () => {
  world = await inboxWorld();
  await world.tick();
});
afterAll(() => world.stop());

const send = (prefix: string, from: number, to: number) => world.caller.sql`
  select carillon.delete_schedule(concat(${prefix}::text, n)) from generate_series(${from}::int, ${to}::int) n`;

test("A role has at most as many commands in the SQL inbox as the quota of its prefix allows", async () => {
  const { sql, caller } = world;
  await defineQuotas(sql, [
    { prefix: "sql:", kind: "inboxRows", most: 150 },
    { prefix: "", kind: "inboxRows", most: null },
  ]);
  await send("any:", 1, 400);
  await sql`delete from carillon.inbox`;
  await sql`select carillon.restrict_caller(${caller.role}, 'sql:')`;
  await send("sql:", 1, 150);
  await expect(send("sql:", 151, 400)).rejects.toThrow(
    "Your role has more than 150 commands in the inbox, the most that its quota allows",
  );
  await world.tick();
  expect(await world.waiting()).toBe(0);
  await send("sql:", 151, 300);
});

test("The schedules of a role's prefix have a quota, and a refused command is kept with its reason", async () => {
  const { sql, caller } = world;
  await sql`select carillon.restrict_caller(${caller.role}, 'shop:')`;
  await defineQuotas(sql, [{ prefix: "", kind: "schedules", most: 2 }]);
  await caller.sql`
    select carillon.put_schedule(jsonb_build_object('key', concat('shop:', n), 'when', 'every 7d', 'target', '{"queue": "demo"}'::jsonb))
    from generate_series(1, 3) n`;
  await world.tick();
  expect(await world.refused()).toMatchObject([
    { key: "shop:3", problem: expect.stringContaining("would have 3 schedules") },
  ]);
});

test("Commands of the SQL inbox have the quota of bytes in a day that the role's prefix has", async () => {
  const { sql, caller } = world;
  await sql`select carillon.restrict_caller(${caller.role}, 'daily:')`;
  await defineQuotas(sql, [{ prefix: "daily:", kind: "payloadBytesPerDay", most: 60 }]);
  await caller.sql`
    select carillon.put_schedule(jsonb_build_object('key', 'daily:1', 'when', 'every 7d', 'target', '{"queue": "demo"}'::jsonb,
      'payload', concat('bytes: ', n)))
    from generate_series(1, 3) n`;
  await world.tick();
  expect(await world.refused()).toContainEqual(
    expect.objectContaining({
      key: "daily:1",
      problem: expect.stringContaining("would have 78 bytes of payloads and targets written today"),
    }),
  );
});
