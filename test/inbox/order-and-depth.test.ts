import { afterAll, beforeAll, expect, test } from "vitest";
import type { Sql } from "../../lib/db/connect.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { applyInbox } from "../../lib/inbox/apply-inbox.ts";
import { minute } from "../support/instants.ts";
import { acceptance, type InboxWorld, inboxWorld } from "./inbox-world.ts";

let world: InboxWorld;
beforeAll(async () => {
  world = await inboxWorld();
  await world.tick();
});
afterAll(() => world.stop());

const target = { queue: "demo" };
const deps = (sql: Sql) => ({ sql, queue: world.queue, log: world.log, acceptance });
const noBounds = { most: 10_000, timeIsUp: () => false };
const put = (sql: Sql, body: object) =>
  sql`select carillon.put_schedule(${JSON.stringify(body)}::text::jsonb)`;
const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;

test("a command that is nested too deep is refused at the call", async () => {
  const call = (levels: number) => world.caller.sql`
    select carillon.put_schedule(${`{"key": "deep", "when": "every 1h", "target": {"queue": "demo"}, "payload": ${nested(levels)}}`}::text::jsonb)`;
  for (const levels of [63, 1_000, 4_000])
    await expect(call(levels), String(levels)).rejects.toMatchObject({
      code: "22023",
      message: expect.stringContaining("nested more than 64 levels deep"),
    });
  // Within that depth, the payload's own limit is reported with the other faults, when the command
  // is applied.
  await call(62);
  await applyInbox(deps(world.sql), noBounds);
  expect((await world.refused()).map(({ key }) => key)).toEqual(["deep"]);
  await world.sql`delete from carillon.inbox_refusals`;
});

test.each([
  [
    "payload",
    (deep: string) =>
      `{"put": {"key": "deep", "when": "every 1h", "target": {"queue": "demo"}, "payload": ${deep}}}`,
  ],
  ["target", (deep: string) => `{"put": {"key": "deep", "when": "every 1h", "target": ${deep}}}`],
])("a %s nested five thousand deep is refused, and stops no other command", async (_, command) => {
  // Inserted like a command from before such calls were refused.
  await world.sql`
    insert into carillon.inbox (at, caller, reach, key, command, bytes)
    select carillon.clock(), 'shop', '', 'deep', ${command(nested(5_000))}::text::jsonb, 20000`;
  await put(world.caller.sql, { key: "good", when: "every 1h", target });
  await world.clock.advance(minute);
  await world.tick();
  expect(await readSchedule(world.sql, "good")).not.toBeNull();
  expect(await world.waiting()).toBe(0);
  expect(await world.sql`select key, command, problem from carillon.inbox_refusals`).toEqual([
    { key: "deep", command: { key: "deep" }, problem: "The command is nested more than 64 levels deep." },
  ]);
  await world.sql`delete from carillon.inbox_refusals`;
  await world.remove("good");
});

test("a refusal that cannot be written stops no other", async () => {
  await put(world.caller.sql, { key: "unwritable", when: "no time", target });
  await put(world.caller.sql, { key: "writable", when: "no time", target });
  await put(world.caller.sql, { key: "good-beside", when: "every 1h", target });
  await world.sql`alter table carillon.inbox_refusals add constraint broken check (key <> 'unwritable')`;
  const { applied, refused, failed } = await applyInbox(deps(world.sql), noBounds);
  expect({ applied, refused, failed }).toEqual({ applied: 1, refused: 1, failed: 1 });
  expect(await world.waiting()).toBe(1);
  await world.sql`alter table carillon.inbox_refusals drop constraint broken`;
  await world.clock.advance(minute);
  await applyInbox(deps(world.sql), noBounds);
  expect((await world.refused()).map(({ key }) => key)).toEqual(["unwritable", "writable"]);
});

test("a put and a delete of one transaction, which commits while a run is between two chunks, keep their order", async () => {
  const caller = world.caller.sql;
  const [first, goOn, second, commit] = [1, 2, 3, 4].map(() => Promise.withResolvers<void>());
  if (first === undefined || goOn === undefined || second === undefined || commit === undefined)
    throw new Error("There are four.");
  const long = caller.begin(async (tx) => {
    await tx`select carillon.put_schedule(${JSON.stringify({ key: "short-lived", when: "every 1h", target })}::text::jsonb)`;
    first.resolve();
    await goOn.promise;
    await tx`select carillon.delete_schedule('short-lived')`;
    second.resolve();
    await commit.promise;
  });
  await first.promise;
  await caller`
    select carillon.put_schedule(jsonb_build_object('key', 'many-' || i, 'when', 'every 1h', 'target', '{"queue": "demo"}'::jsonb))
    from generate_series(1, 1000) i`;
  goOn.resolve();
  await second.promise;
  // The caller commits while the first thousand are applied.
  let begun = 0;
  const begin = async (...details: unknown[]) => {
    begun += 1;
    if (begun === 1) {
      commit.resolve();
      await long;
    }
    return Reflect.apply(world.sql.begin, world.sql, details);
  };
  const sql = new Proxy(world.sql, {
    get: (of, name) => (name === "begin" ? begin : Reflect.get(of, name)),
  });
  await applyInbox(deps(sql), noBounds);
  await applyInbox(deps(world.sql), noBounds);
  expect(await readSchedule(world.sql, "short-lived")).toBeNull();
  expect(await world.waiting()).toBe(0);
});
