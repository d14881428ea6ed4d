import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { hour, minute, second } from "../support/instants.ts";
import { type IngestWorld, ingestWorld } from "./ingest-world.ts";

let world: IngestWorld;
let keys = 0;
let key: string;

beforeAll(async () => {
  world = await ingestWorld();
});
afterAll(() => world.stop());
beforeEach(() => {
  keys += 1;
  key = `key-${keys}`;
});

const target = { queue: "demo" };
const now = () => world.carillon.clock.now();
const ago = (ms: number) => new Date(now().getTime() - ms);
const read = () => readSchedule(world.carillon.sql, key);
const put = (payload: unknown, more: object = {}) => ({
  put: { key, when: "every 1h", target, payload, ...more },
});

async function dead() {
  return world.carillon.sql<{ place: number; kind: string; commandId: string | null; told: boolean }[]>`
    select place, refusal->>'kind' as kind, command_id as "commandId", told from carillon.dead_commands
    where key = ${key} order by message_id, place`;
}

describe("a message", () => {
  test("a message is one command, an array of commands, or an object with commands", async () => {
    expect(await world.command(put(1))).toEqual([]);
    expect(await read()).toMatchObject({ body: { payload: 1 }, version: 1, createdBy: "queue:ingest" });
    await world.carillon.clock.advance(second);
    await world.command([put(2), { pause: key }] as object);
    expect(await read()).toMatchObject({ body: { payload: 2 }, state: "paused" });
    await world.carillon.clock.advance(second);
    await world.command({ commands: [{ resume: key }, { patch: { key, payload: 3 } }] });
    expect(await read()).toMatchObject({ body: { payload: 3 }, state: "active" });
    await world.carillon.clock.advance(second);
    await world.command({ delete: key });
    expect(await read()).toBeNull();
  });

  test("the audit names the queue and the command", async () => {
    await world.command({ id: "order-1-created", ...put(1) });
    const [row] = await world.carillon.sql`select actor, origin from carillon.audit where subject = ${key}`;
    expect(row).toMatchObject({
      actor: "queue:ingest",
      origin: { via: "queue", request: "order-1-created" },
    });
  });

  test("a message that was not handled stays on the queue: the function is out of time, or the database is away", async () => {
    expect(await world.ingest([{ id: "late", body: put(1) }], () => true)).toEqual(["late"]);
    const { sql } = world.deps;
    const away = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    const failing = new Proxy(sql, {
      get: (of, name) => (name === "begin" ? () => Promise.reject(away) : Reflect.get(of, name)),
    });
    world.deps.sql = failing;
    try {
      expect(
        await world.ingest([
          { id: "a", body: put(1) },
          { id: "b", body: "no" },
        ]),
      ).toEqual(["b", "a"]);
    } finally {
      world.deps.sql = sql;
    }
    expect(await dead()).toEqual([]);
    expect(await read()).toBeNull();
  });
});

describe("late and duplicate commands", () => {
  test("an older put does not undo a newer put, nor a delete, which is remembered without its schedule", async () => {
    await world.command({ at: ago(minute), ...put("new") });
    await world.command({ at: ago(hour), ...put("old") });
    expect(await read()).toMatchObject({ body: { payload: "new" }, version: 1 });
    await world.command({ at: ago(second), delete: key });
    await world.command({ at: ago(2 * second), ...put("late") });
    expect(await read()).toBeNull();
    await world.command({ at: now(), ...put("again") });
    expect(await read()).toMatchObject({ body: { payload: "again" } });
  });

  test("a delete that overtakes its put wins, although the schedule never existed", async () => {
    await world.command({ at: ago(second), delete: key });
    await world.command({ at: ago(minute), ...put(1) });
    expect(await read()).toBeNull();
  });

  test("the same command again changes nothing, also with another time", async () => {
    const command = { id: "one", ...put(1, { when: "in 1h" }) };
    await world.command({ ...command, at: ago(minute) });
    const before = await read();
    await world.command({ ...command, at: ago(minute) });
    await world.command({ ...command, at: now() });
    expect(await read()).toEqual(before);
  });

  test("at the same instant the delete counts as the later command, and within a message the position decides", async () => {
    const at = ago(second);
    await world.command({ id: "z", at, ...put(1) });
    await world.command({ id: "a", at, delete: key });
    expect(await read()).toBeNull();
    await world.command([{ delete: key }, put(2)] as object);
    expect(await read()).toMatchObject({ body: { payload: 2 } });
  });

  test("relative times count from the command's time, and times that are past run at once", async () => {
    await world.command({ at: ago(hour), ...put(1, { when: "in 3h" }) });
    expect((await read())?.nextAt).toEqual(new Date(now().getTime() + 2 * hour));
    await world.command({ at: ago(minute), patch: { key, when: "in 2m" } });
    expect((await read())?.nextAt).toEqual(new Date(now().getTime() + minute));
    await world.command({ at: ago(30 * second), ...put(2, { when: "in 10s" }) });
    await world.carillon.tick();
    expect(await world.carillon.jobs(key)).toMatchObject([{ dueAt: now(), state: "waiting" }]);
  });

  test("a put that comes late keeps the patch and the pause that were given after it", async () => {
    await world.command({ at: ago(hour), ...put("first", { tags: ["a"] }) });
    await world.command({ at: ago(3 * second), patch: { key, payload: "patched" } });
    await world.command({ at: ago(second), pause: key });
    await world.command({ at: ago(minute), ...put("late", { tags: ["b"] }) });
    expect(await read()).toMatchObject({ body: { payload: "patched", tags: ["b"] }, state: "paused" });
  });

  test("a delete that comes late removes the pause before it, and not the put after it", async () => {
    await world.command({ at: ago(hour), ...put(1) });
    await world.command({ at: ago(3 * second), pause: key });
    await world.command({ at: ago(second), ...put(2) });
    expect(await read()).toMatchObject({ state: "paused" });
    await world.command({ at: ago(2 * second), delete: key });
    expect(await read()).toMatchObject({ body: { payload: 2 }, state: "active" });
  });

  test("a pause waits for the put that it has overtaken, and is dead if none comes", async () => {
    const pause = { id: `p-${key}`, body: { at: ago(second), pause: key } };
    expect(await world.ingest([pause])).toEqual([pause.id]);
    expect(await dead()).toEqual([]);
    await world.command({ at: ago(minute), ...put(1) });
    expect(await world.ingest([{ ...pause, receives: 2 }])).toEqual([]);
    expect(await read()).toMatchObject({ state: "paused" });
    key = `${key}-never`;
    expect(await world.ingest([{ body: { pause: key }, sentAt: ago(16 * minute) }])).toEqual([]);
    expect(await dead()).toMatchObject([{ kind: "missing", told: true }]);
  });

  test("an edit by hand after the command was given is kept", async () => {
    await world.command({ at: ago(hour), ...put(1) });
    await world.carillon.put(key, { when: "every 2h", payload: "by hand" });
    await world.command({ at: ago(minute), ...put(2) });
    await world.command({ at: ago(minute), delete: key });
    expect(await read()).toMatchObject({ body: { payload: "by hand" } });
    await world.carillon.clock.advance(minute);
    await world.command({ at: ago(second), ...put(3) });
    expect(await read()).toMatchObject({ body: { payload: 3 } });
    await world.carillon.remove(key);
    await world.command({ at: ago(second / 2), ...put(4) });
    expect(await read()).toBeNull();
  });
});

describe("a command that is not applied", () => {
  test("a refused command is dead alone: the others of its message are applied", async () => {
    await world.ingest([
      {
        id: `m-${key}`,
        body: [
          put(1),
          put(2, { when: "sometimes" }),
          { id: "odd", put: { key, target } },
          { patch: { key, payload: 3 } },
        ],
      },
    ]);
    expect(await read()).toMatchObject({ body: { payload: 3 } });
    expect(await dead()).toMatchObject([
      { place: 1, kind: "invalid", told: true },
      { place: 2, kind: "invalid", commandId: "odd", told: true },
    ]);
    const letters = await world.deadLetters(3);
    const own = letters.filter(({ attributes }) => attributes["messageId"] === `m-${key}`);
    expect(own.map(({ attributes }) => [attributes["reason"], attributes["place"]]).sort()).toEqual([
      ["invalid", "1"],
      ["invalid", "2"],
    ]);
    const first = own.find(({ attributes }) => attributes["place"] === "1");
    expect(first?.attributes["errors"]).toContain("when");
    expect(JSON.parse(first?.body ?? "")).toMatchObject({
      id: `m-${key}/1`,
      at: now().toISOString(),
      put: { key },
    });
  });

  test("a refused command is dead once, however often its message comes, and is sent to the dead-letter queue once that is possible", async () => {
    const message = { id: `m-${key}`, body: put(1, { colour: "red" }) };
    const { deadUrl } = world.deps.queues;
    world.deps.queues = { ...world.deps.queues, deadUrl: `${deadUrl}-nowhere` };
    expect(await world.ingest([message])).toEqual([message.id]);
    expect(await dead()).toMatchObject([{ told: false }]);
    world.deps.queues = { ...world.deps.queues, deadUrl };
    expect(await world.ingest([{ ...message, receives: 2 }])).toEqual([]);
    expect(await world.ingest([{ ...message, receives: 3 }])).toEqual([]);
    expect(await dead()).toMatchObject([{ told: true }]);
  });

  test.each([
    ["no JSON", "{", "The message is not JSON."],
    ["no command", "[]", "takes 1 to 1000 commands, has 0"],
    ["a number", "7", "takes an object with one of"],
    ["numbers that would lose digits", '{"put":{"payload":12345678901234567890}}', "cannot be kept exactly"],
    ["a time that is no instant", JSON.stringify({ at: "yesterday", delete: "x" }), "takes an instant"],
    [
      "a time in the future",
      JSON.stringify({ at: "2199-01-01T00:00:00Z", delete: "x" }),
      "lies in the future",
    ],
    [
      "a time long ago",
      JSON.stringify({ at: "2001-01-01T00:00:00Z", delete: "x" }),
      "is more than 15 days ago",
    ],
  ])("a dead command has its reason: %s", async (_, body, why) => {
    await world.ingest([{ id: key, body }]);
    const [row] = await world.carillon.sql`
      select refusal::text as text from carillon.dead_commands where message_id = ${key}`;
    expect(row?.["text"]).toContain(why);
  });

  test("a command for a key outside the queue's prefix is dead", async () => {
    world.deps.prefix = "team:";
    await world.ingest([{ id: key, body: put(1) }]);
    world.deps.prefix = null;
    expect(await read()).toBeNull();
    expect(
      await world.carillon.sql`
        select key, queue_prefix as prefix, refusal->>'kind' as kind from carillon.dead_commands
        where message_id = ${key}`,
    ).toEqual([{ key, prefix: "team:", kind: "forbidden" }]);
  });

  test("the log of a refused command never shows a secret", async () => {
    const webhook = {
      url: "https://example.com/",
      secret: "hunter2-hunter2-hunter2-hunter2!",
      method: "FLY",
    };
    await world.ingest([{ body: put(1, { target: { webhook } }) }, { body: `{"secret":"hunter2", oops` }]);
    expect(JSON.stringify(world.carillon.log.lines)).not.toContain("hunter2");
  });
});

test.each([
  ["a failure that does not pass", "XX001"],
  ["a repeated deadlock", "40P01"],
])("%s of one command keeps only its own message on the queue", async (_, code) => {
  const { sql } = world.deps;
  const poison = `${key}-poison`;
  await world.carillon.sql.unsafe(`
    create function carillon.refuse_poison() returns trigger language plpgsql as $$
    begin if new.key like '%poison' then raise exception 'poison' using errcode = '${code}'; end if; return new; end $$;
    create trigger refuse_poison before insert on carillon.schedules for each row execute function carillon.refuse_poison();`);
  const messages = ["a", "b", "c", "d"].map((name) => ({
    id: `${key}-${name}`,
    body: { put: { key: name === "c" ? poison : `${key}-${name}`, when: "every 1h", target } },
  }));
  expect(await world.ingest(messages)).toEqual([`${key}-c`]);
  const [made] = await sql`select count(*)::int as n from carillon.schedules where key like ${`${key}-%`}`;
  expect(made).toEqual({ n: 3 });
  await world.carillon.sql.unsafe(
    "drop trigger refuse_poison on carillon.schedules; drop function carillon.refuse_poison",
  );
});

test("a message with more commands than one transaction takes is applied in several", async () => {
  const own = (n: number) => `${key}-${n % 2}`;
  // Each command but the first of its key is in a wave of its own.
  const commands = Array.from({ length: 210 }, (_, n) => ({
    put: { key: own(n), when: "every 1h", target, payload: n },
  }));
  expect(await world.command(commands)).toEqual([]);
  const payloads = [0, 1].map(async (n) => (await readSchedule(world.carillon.sql, own(n)))?.body.payload);
  expect(await Promise.all(payloads)).toEqual([208, 209]);
});

test("a job that a command puts without a key is made once, although its message comes twice", async () => {
  const job = { id: `job-${key}`, body: { job: { target, at: "in 5m", payload: key } } };
  await world.ingest([job]);
  await world.ingest([{ ...job, receives: 2 }]);
  const [made] =
    await world.sql`select count(*)::int as n from carillon.schedule_versions where payload = ${JSON.stringify(key)}::text::jsonb`;
  expect(made).toEqual({ n: 1 });
});
