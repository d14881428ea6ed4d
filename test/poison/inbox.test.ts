import { afterEach, beforeEach, expect, test } from "vitest";
import type { Acceptance } from "../../lib/command/acceptance.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { applyInbox } from "../../lib/inbox/apply-inbox.ts";
import type { Consumer } from "../../lib/quarantine/quarantine.ts";
import { acceptance, type InboxWorld, inboxWorld } from "../inbox/inbox-world.ts";
import { connectThrough, textOf, valuesOf } from "../race/lines.ts";
import { cutBefore } from "../race/stage.ts";
import { hour, minute } from "../support/instants.ts";
import { impatientTick } from "./poison.ts";

let world: InboxWorld;
beforeEach(async () => {
  world = await inboxWorld();
  await world.tick();
});
afterEach(() => world.stop());

interface Command {
  key: string;
  description?: string;
}

/** Puts all commands in one transaction. */
const putAll = (commands: readonly Command[]) =>
  world.caller.sql`
    select carillon.put_schedule(jsonb_build_object('key', c.key, 'description', c.description, 'when', 'every 1h', 'target', '{"queue": "demo"}'::jsonb))
    from jsonb_to_recordset(${JSON.stringify(commands)}::text::jsonb) c (key text, description text)`;
const many = (count: number, name: string, description?: string): Command[] =>
  Array.from({ length: count }, (_, n) => ({
    key: `${name}-${n}`,
    ...(description === undefined ? {} : { description }),
  }));

/** Fails when it reads a command with the description "poison", as a bug in Carillon would. */
const failing: Acceptance = {
  ...acceptance,
  body: (body, key) => {
    if (body.description === "poison") throw new TypeError("Carillon has a mistake.");
    acceptance.body(body, key);
  },
};

const standing = async (name: string) => {
  const [row] = await world.sql<{ n: number }[]>`
    select count(*)::int as n from carillon.schedules where key like ${`${name}-%`} and deleted_at is null`;
  return row?.n;
};
const consumer: Consumer = "inbox";
const quarantine = () =>
  world.sql<{ item: string; key: string; reason: string; tries: number }[]>`
    select item, detail->>'key' as key, reason, tries from carillon.quarantine where consumer = ${consumer} order by item::bigint`;
const description = async (key: string) => (await readSchedule(world.sql, key))?.body.description;

/**
 * Makes each put of a schedule whose key begins with this name run the statement `how` in the
 * database, which fails or hangs.
 */
async function breakKeys(name: string, how: string): Promise<void> {
  await world.sql.unsafe(`
    create function carillon.break_keys() returns trigger language plpgsql as $$ begin ${how}; return new; end $$;
    create trigger break_keys before insert on carillon.schedules for each row when (new.key like '${name}%')
      execute function carillon.break_keys()`);
}
const mend = () => world.sql`drop trigger break_keys on carillon.schedules`;

test("When the first hundred and fifty commands fail as they are read, the same tick applies the ones after them", async () => {
  await putAll([...many(150, "bad", "poison"), ...many(50, "good")]);
  world.more.tick = { acceptance: failing };
  await world.tick();
  expect(await standing("good")).toBe(50);
  expect(await world.waiting()).toBe(150);
  expect((await quarantine()).length).toBe(150);
});

test("A command that fails again while its entry is locked does not stop later ones of the same tick", async () => {
  await putAll(many(1, "bad", "poison"));
  world.more.tick = { acceptance: failing };
  await world.tick();
  await world.clock.advance(minute);
  await putAll(many(3, "good"));
  await impatientTick(world);
  await world.sql.begin(async (tx) => {
    await tx`select from carillon.quarantine for update`;
    await world.tick();
  });
  expect(await standing("good")).toBe(3);
  expect(await quarantine()).toMatchObject([{ key: "bad-0", tries: 1 }]);
});

test("When the first hundred and fifty commands fail in the database, the same tick applies the ones after them, and the failed ones are applied once repaired", async () => {
  await putAll([...many(150, "bad"), ...many(1_200, "good")]);
  await breakKeys("bad", "raise exception 'secret-%', new.key");
  await world.tick();
  expect(await standing("good")).toBe(1_200);
  const aside = await quarantine();
  expect(aside.length).toBe(150);
  expect(aside[0]).toMatchObject({ key: "bad-0", tries: 1 });
  expect(JSON.stringify([aside, world.log.lines])).not.toContain("secret");
  await mend();
  await world.tick();
  expect(await standing("bad")).toBe(0);
  await world.clock.advance(minute);
  await world.tick();
  expect(await standing("bad")).toBe(150);
  expect(await quarantine()).toEqual([]);
  expect(await world.waiting()).toBe(0);
});

test("Commands of a key after one that is set aside wait for it, whenever they were sent, and are applied after it", async () => {
  await putAll([
    { key: "kept", description: "poison" },
    { key: "kept", description: "second" },
  ]);
  world.more.tick = { acceptance: failing };
  await world.tick();
  await world.caller.sql`select carillon.patch_schedule('{"key": "kept", "description": "third"}')`;
  await putAll([{ key: "other", description: "first" }]);
  await world.tick();
  expect(await description("kept")).toBeUndefined();
  expect(await description("other")).toBe("first");
  expect(await world.waiting()).toBe(3);
  await world.clock.advance(minute);
  world.more.tick = { acceptance };
  await world.tick();
  expect(await description("kept")).toBe("third");
  expect(await readSchedule(world.sql, "kept")).toMatchObject({ version: 3 });
  expect(await world.waiting()).toBe(0);
});

test("Commands behind a whole run of commands that wait for one in quarantine are applied", async () => {
  await putAll([{ key: "kept", description: "poison" }]);
  world.more.tick = { acceptance: failing };
  await world.tick();
  await world.sql`
    insert into carillon.inbox (at, caller, reach, key, command, bytes)
    select carillon.clock(), 'shop', '', 'kept', '{"resume": "kept"}', 18 from generate_series(1, 10001)`;
  await putAll([{ key: "behind" }]);
  await world.tick();
  expect(await readSchedule(world.sql, "behind")).not.toBeNull();
});

test("A command that keeps failing is finally retried every hour, alone, and leaves quarantine when an owner deletes it", async () => {
  await putAll([{ key: "bad-1", description: "poison" }]);
  world.more.tick = { acceptance: failing };
  for (let n = 0; n < 24; n++) {
    await world.tick();
    await world.clock.advance(hour);
  }
  const [entry] = await quarantine();
  expect(entry?.tries).toBeGreaterThanOrEqual(12);
  expect(entry?.reason).toBe("TypeError: Carillon has a mistake.");
  await world.sql`delete from carillon.inbox`;
  await world.sql`select carillon.put_schedule('{"key": "next", "when": "every 1h", "target": {"queue": "demo"}}')`;
  await world.tick();
  expect(await quarantine()).toEqual([]);
});

test("A command that hangs in the database is set aside, and the others are applied by the same tick", async () => {
  await putAll([...many(2, "good"), { key: "slow-1" }, ...many(4, "fine")]);
  await breakKeys("slow", "perform pg_advisory_xact_lock(77, 77)");
  await world.sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(77, 77)`;
    await world.tick();
  });
  expect(await standing("good")).toBe(2);
  expect(await standing("fine")).toBe(4);
  expect(await quarantine()).toMatchObject([{ key: "slow-1", reason: expect.stringContaining("57014") }]);
});

test("A command that is refused at its retry leaves quarantine", async () => {
  await putAll([{ key: "bad-1", description: "poison" }]);
  world.more.tick = { acceptance: failing };
  await world.tick();
  world.more.tick = { acceptance };
  await world.sql`update carillon.inbox set command = '{"put": {"key": "bad-1", "when": "never", "target": {"queue": "demo"}}}'`;
  await world.clock.advance(minute);
  await world.tick();
  expect(await world.refused()).toMatchObject([{ key: "bad-1" }]);
  expect(await quarantine()).toEqual([]);
});

test("A command whose slow transaction Postgres may have ended is set aside, and no other is", async () => {
  await putAll([...many(4, "good"), { key: "heavy" }, ...many(4, "fine")]);
  const timing = { ...world.queue.timing };
  let now = 0;
  const sql = connectThrough(
    world.databaseUrl,
    cutBeforeKey("heavy", () => (now += 9_000)),
  );
  const queue = { ...world.queue, timing: { ...timing, now: () => now } };
  const deps = { sql, queue, log: world.log, acceptance };
  const done = await applyInbox(deps, { most: 10_000, timeIsUp: () => false });
  await sql.end();
  expect(done).toMatchObject({ applied: 8, failed: 1 });
  expect(await quarantine()).toMatchObject([{ key: "heavy" }]);
});

/** Cuts the connection at each insert of this key. */
function cutBeforeKey(key: string, onCut: () => void): Parameters<typeof connectThrough>[1] {
  return (line, onLost) => ({
    ...line,
    run: (statement) => {
      const isEdit = !textOf(statement).includes("carillon.quarantine");
      if (isEdit && JSON.stringify(valuesOf(statement)).includes(key)) {
        onCut();
        return cutBefore("")(line, onLost).run(statement);
      }
      return line.run(statement);
    },
  });
}
