import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { applyInbox, applyInboxAtOnce } from "../../lib/inbox/apply-inbox.ts";
import { standingTiming } from "../../lib/tools/testing/standing-timing.ts";
import { diceOf, seeded } from "../race/seeded.ts";
import { type CallerLogin, callerLogin } from "./callers.ts";
import { acceptance, type InboxWorld, inboxWorld } from "./inbox-world.ts";

let world: InboxWorld;
let other: CallerLogin;
beforeAll(async () => {
  world = await inboxWorld();
  other = await callerLogin(world.sql, world.databaseUrl);
  await world.tick();
});
beforeEach(() => world.sql`delete from carillon.inbox`);
afterAll(async () => {
  await other.sql.end();
  await world.stop();
});

const apply = (most: number) =>
  applyInbox(
    { sql: world.as.tick, queue: world.queue, log: world.log, acceptance },
    { most, timeIsUp: () => false },
  );

async function applyAll(most: number): Promise<void> {
  while ((await apply(most)).more);
}

const put = ({ sql }: CallerLogin, key: string, payload: number | null = null) => sql`
  select carillon.put_schedule(jsonb_build_object('key', ${key}::text, 'when', 'in 30d', 'target', '{"queue": "demo"}'::jsonb, 'payload', ${payload}::int))`;
const putMany = ({ sql }: CallerLogin, prefix: string, count: number) => sql`
  select count(carillon.put_schedule(jsonb_build_object('key', concat(${prefix}::text, i), 'when', 'in 30d', 'target', '{"queue": "demo"}'::jsonb)))
  from generate_series(1, ${count}::int) i`;

test("One command of a caller is applied at once, however many of another caller wait before it", async () => {
  await putMany(world.caller, "evil:", 3_000);
  await put(other, "good:1");
  expect(await apply(200)).toEqual({ applied: 101, refused: 0, failed: 0, more: true });
  expect(await readSchedule(world.sql, "good:1")).not.toBeNull();
  expect(await world.waiting()).toBe(2_900);
});

test("A run applies as many commands of a caller that waits alone as it may", async () => {
  await putMany(world.caller, "alone:", 300);
  expect(await apply(250)).toMatchObject({ applied: 250, more: true });
  expect(await apply(250)).toMatchObject({ applied: 50, more: false });
});

test("POST /v1/inbox:apply applies all of its ten thousand, also where one of the callers has few", async () => {
  await putMany(world.caller, "at-once:", 6_000);
  await put(other, "few:1");
  // On a busy machine the commands take longer than the request may.
  const queue = { ...world.queue, timing: standingTiming(world.clock) };
  const deps = { sql: world.as.api, queue, log: world.log, acceptance };
  expect(await applyInboxAtOnce(deps)).toEqual({ applied: 6_001, refused: 0, failed: 0, more: false });
});

test("A command waits for an older one of its key by another caller, with the later commands of its own caller", async () => {
  await putMany(world.caller, "shared:", 300);
  await other.sql`select carillon.delete_schedule('shared:300')`;
  await put(other, "shared:later");
  await apply(200);
  expect(await world.waiting()).toBe(202);
  expect(await readSchedule(world.sql, "shared:later")).toBeNull();
  await applyAll(200);
  expect(await world.waiting()).toBe(0);
  expect(await readSchedule(world.sql, "shared:300")).toBeNull();
  expect(await readSchedule(world.sql, "shared:299")).not.toBeNull();
  expect(await readSchedule(world.sql, "shared:later")).not.toBeNull();
});

test.each([1, 2, 3])(
  "Commands of a key keep their order under turns, whatever callers they have (seed %i)",
  async (seed) => {
    const dice = diceOf(seeded(seed));
    const expected = new Map<string, number[]>();
    for (let n = 1; n <= 150; n++) {
      const key = `ordered-${seed}:${dice.between(1, 12)}`;
      expected.set(key, [...(expected.get(key) ?? []), n]);
      await put(dice.pick([world.caller, world.caller, other]), key, n);
      if (dice.chance(0.1)) await apply(dice.between(1, 20));
    }
    await applyAll(dice.between(1, 40));
    const versions = await world.sql<{ key: string; payloads: number[] }[]>`
    select s.key, array_agg((v.payload #>> '{}')::int order by v.version) as payloads
    from carillon.schedules s join carillon.schedule_versions v on v.schedule_id = s.id
    where starts_with(s.key, ${`ordered-${seed}:`}) group by s.key`;
    expect(new Map(versions.map(({ key, payloads }) => [key, payloads]))).toEqual(expected);
  },
);

test("Two callers that write at the same time, while runs apply, lose no command and repeat none", async () => {
  const callers = [world.caller, other];
  const writing = callers.flatMap((caller, side) =>
    [1, 2].map(async (session) => {
      for (let n = 0; n < 40; n++) await put(caller, `both:${side}-${session}-${n % 10}`, n);
    }),
  );
  const applied: number[] = [];
  const applyOnce = async (most: number) => {
    const run = await apply(most);
    applied.push(run.applied);
  };
  const applying = [1, 2].map(async () => {
    for (let n = 0; n < 10; n++) await applyOnce(25);
  });
  await Promise.all([...writing, ...applying]);
  while ((await world.waiting()) > 0) await applyOnce(1_000);
  expect(applied.reduce((sum, each) => sum + each)).toBe(160);
  const [row] = await world.sql<{ n: number; newest: number[] }[]>`
    select count(*)::int as n, array_agg(distinct version) as newest from carillon.schedules where starts_with(key, 'both:')`;
  expect(row).toEqual({ n: 40, newest: [4] });
});
