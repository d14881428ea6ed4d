import { afterAll, beforeAll, expect, test } from "vitest";
import { defineQuotas } from "../../lib/quota/define-quotas.ts";
import { type CallerLogin, callerLogin } from "./callers.ts";
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
    "Your role has 150 commands in the inbox, the most that its quota allows",
  );
  await world.tick();
  expect(await world.waiting()).toBe(0);
  await send("sql:", 151, 300);
});

/** Calls that are refused alone, as with autocommit. Returns how many were accepted. */
async function sendEach({ sql }: CallerLogin, prefix: string, count: number): Promise<number> {
  let accepted = 0;
  for (let n = 0; n < count; n++) {
    const sent = sql`select carillon.delete_schedule(${`${prefix}${n}`})`;
    accepted += await sent.then(
      () => 1,
      ({ code }: { code: string }) => {
        expect(code).toBe("53400");
        return 0;
      },
    );
  }
  return accepted;
}

test("A role's quota of the SQL inbox holds to the last command, also if each call is refused alone and other roles call in between", async () => {
  const { sql, caller } = world;
  await sql`delete from carillon.inbox`;
  await sql`select carillon.restrict_caller(${caller.role}, 'sql:')`;
  const other = await callerLogin(sql, world.databaseUrl);
  for (let round = 0; round < 4; round++) {
    expect(await sendEach(caller, "sql:", 60)).toBe([60, 60, 30, 0][round]);
    expect(await sendEach(other, "other:", 40)).toBe(40);
  }
  await sql`delete from carillon.inbox where caller = ${caller.role} and id in (
    select id from carillon.inbox where caller = ${caller.role} order by id limit 70)`;
  expect(await sendEach(caller, "sql:", 100)).toBe(70);
  await other.sql.end();
});

test("A role's quota of the SQL inbox is passed only by calls of transactions that are open at the same time", async () => {
  const { sql, caller } = world;
  await sql`delete from carillon.inbox`;
  const accepted = await Promise.all([1, 2].map(() => sendEach(caller, "sql:", 160)));
  const sum = accepted.reduce((all, each) => all + each);
  expect(sum).toBeGreaterThanOrEqual(150);
  expect(sum).toBeLessThanOrEqual(151);
});

test("Calls that are rolled back take no room of the quota of the SQL inbox", async () => {
  const { sql, caller } = world;
  await sql`delete from carillon.inbox`;
  for (let round = 0; round < 3; round++)
    await caller.sql
      .begin(async (tx) => {
        await tx`select carillon.delete_schedule(concat('sql:', n)) from generate_series(1, 100) n`;
        throw new Error("Rolled back.");
      })
      .catch(() => {});
  expect(await sendEach(caller, "sql:", 160)).toBe(150);
});

test("A lowered quota of the SQL inbox applies to a role that is counted again within ten thousand commands", async () => {
  const { sql, caller } = world;
  await sql`delete from carillon.inbox`;
  await sql`select carillon.restrict_caller(${caller.role}, 'lowered:')`;
  await send("lowered:", 1, 100);
  await defineQuotas(sql, [{ prefix: "lowered:", kind: "inboxRows", most: 50 }]);
  await sql`select setval('carillon.inbox_id_seq', (select max(id) from carillon.inbox) + 10000)`;
  expect(await sendEach(caller, "lowered:", 1)).toBe(0);
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
