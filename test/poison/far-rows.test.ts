import { afterEach, beforeEach, expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { planLock } from "../../lib/db/locks.ts";
import { bringAllNear, bringNear } from "../../lib/tick/housekeeping/bring-near.ts";
import { tickDefaults } from "../../lib/tick/tick.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute } from "../support/instants.ts";
import { planSteps } from "./plan-steps.ts";
import { impatientTick, mend, poison, quarantined } from "./poison.ts";
import { rowPoisons } from "./row-poisons.ts";
import { idOf, ofBad, together } from "./row-scenario.ts";

/**
 * A row of the far plan cannot move to the near plan: other schedules fire on time, and the
 * schedule of the row loses nothing.
 */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const { occurrencesOf } = planSteps(() => world);

const keys = ["a", "b", "c", "d", "e"];
/**
 * Occurs on the fifth, ninth and thirteenth at nine. On the second, the test's Monday, these rows
 * are in the far plan.
 */
const when = "0 9 */4 * *";
const fifth = at(2 * day + 23 * hour);
const ninth = at(6 * day + 23 * hour);

/**
 * Five schedules of one shard on the day before their rows come near; the one in the middle will be
 * bad.
 */
async function farRows(rules: object = {}): Promise<string> {
  for (const key of keys) await world.put(key, { when, ...rules });
  await together(world);
  await world.clock.advance(day);
  return idOf(world, "c");
}

const lineOf = async () =>
  (
    await world.sql<{ nearUntil: Date }[]>`
      select near_until as "nearUntil" from carillon.shards where id = 3`
  )[0]?.nearUntil;

const ticksTo = async (until: Date) => {
  while (world.clock.now() < until) {
    await world.clock.advance(12 * hour);
    await world.tick();
  }
};

async function tickAt(moment: Date): Promise<void> {
  await world.clock.setNow(moment);
  await world.tick();
}

const isoOf = (...moments: Date[]) => moments.map((moment) => moment.toISOString());

interface FarPoison {
  spoil: (id: string) => PromiseLike<unknown>;
  mended: () => PromiseLike<unknown>;
}

/** Makes deletes of the far row of the fifth fail, and of no other row. */
const keepFifth = (id: string) =>
  poison(world.sql, "plan_far", `old.schedule_id = ${id} and old.due_at < '2026-03-06'`);

const poisons: Record<string, FarPoison> = {
  "cannot be written": {
    spoil: keepFifth,
    mended: () => mend(world.sql, "plan_far"),
  },
  "is refused by the near plan": {
    spoil: async (id) => {
      await world.sql.unsafe(`
        create function public.refused() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
        create trigger refused before insert on carillon.plan for each row when (new.schedule_id = ${id}) execute function public.refused()`);
    },
    mended: () => world.sql`drop trigger refused on carillon.plan`,
  },
  ...Object.fromEntries(
    ["-infinity", "infinity", "2020-01-01", "4000-01-01 BC"].map((due) => [
      `is due at ${due}`,
      {
        spoil: (id) =>
          world.sql`update carillon.plan_far set due_at = ${due}::text::timestamptz where schedule_id = ${id}`,
        mended: async () => {},
      },
    ]),
  ),
  "is due and occurs at -infinity": {
    spoil: (id) =>
      world.sql`update carillon.plan_far set due_at = '-infinity', occurrence = '-infinity' where schedule_id = ${id}`,
    mended: async () => {},
  },
};

test.each(
  Object.keys(poisons).flatMap((name) => [true, false].map((keepsPlans) => [name, keepsPlans] as const)),
)(
  "A far row that %s (plans kept: %s) is set aside by the tick that brings it near, and its schedule fires with its neighbours",
  async (name, keepsPlans) => {
    const id = await farRows();
    world.as.tick = connect({ DATABASE_URL: world.databaseUrl }, { max: 2, keepsPlans });
    await poisons[name]?.spoil(id);
    await world.tick();
    expect(await quarantined(world)).toMatchObject([{ consumer: "plan", item: id, tries: 1 }]);
    expect(await lineOf()).toEqual(new Date("2026-03-06T00:00:00Z"));
    await poisons[name]?.mended();
    await world.clock.advance(minute);
    await world.tick();
    expect(await quarantined(world)).toEqual([]);
    for (const moment of [fifth, ninth]) await tickAt(new Date(moment.getTime() - minute));
    for (const key of keys) expect(await occurrencesOf(key)).toEqual(isoOf(fifth, ninth));
    expect(
      await world.sql`select from carillon.plan_far where schedule_id = ${id} and due_at < ${ninth}`,
    ).toEqual([]);
  },
);

test("A far row that cannot be deleted stops only its own schedule, which catches up once it can", async () => {
  const id = await farRows({ catchUp: { policy: "all" } });
  await keepFifth(id);
  await world.tick();
  await ticksTo(ninth);
  for (const key of ["a", "b", "d", "e"]) expect(await occurrencesOf(key)).toEqual(isoOf(fifth, ninth));
  expect(await occurrencesOf("c")).toEqual([]);
  expect(await quarantined(world)).toMatchObject([{ consumer: "plan", item: id }]);
  await mend(world.sql, "plan_far");
  for (let each = 0; each < 3; each++) {
    await world.clock.advance(65 * minute);
    await world.tick();
  }
  expect(await quarantined(world)).toEqual([]);
  const next = new Date(ninth.getTime() + 4 * day);
  await tickAt(new Date(next.getTime() - minute));
  for (const key of keys) expect(await occurrencesOf(key)).toEqual(isoOf(fifth, ninth, next));
});

test.each([
  ["before it is due", new Date(fifth.getTime() - day)],
  ["after it was due", new Date(fifth.getTime() + hour)],
])(
  "An edit (%s) of a schedule whose far row cannot be deleted runs each occurrence once, and the near line passes that row",
  async (_, moment) => {
    const id = await farRows({ catchUp: { policy: "all" } });
    await keepFifth(id);
    await world.tick();
    await tickAt(moment);
    await world.patch("c", { payload: { edited: true } });
    expect(await quarantined(world)).toEqual([]);
    await ticksTo(ninth);
    for (const key of keys) expect(await occurrencesOf(key)).toEqual(isoOf(fifth, ninth));
    expect(await quarantined(world)).toEqual([]);
    expect(await lineOf()).toEqual(new Date("2026-03-12T00:00:00Z"));
  },
);

test("A pause and a resume of a schedule whose far row cannot be deleted run each due occurrence once", async () => {
  const id = await farRows({ catchUp: { policy: "all" } });
  await keepFifth(id);
  await world.tick();
  for (const key of keys) await world.pause(key);
  await tickAt(new Date(fifth.getTime() + hour));
  for (const key of keys) await world.resume(key);
  await ticksTo(ninth);
  for (const key of keys) expect(await occurrencesOf(key)).toEqual(isoOf(fifth, ninth));
});

test("A schedule deleted while its far row cannot be deleted leaves quarantine, and does not fire again", async () => {
  const id = await farRows();
  await keepFifth(id);
  await world.tick();
  await world.remove("c");
  await mend(world.sql, "plan_far");
  await ticksTo(ninth);
  expect(await quarantined(world)).toEqual([]);
  expect(await occurrencesOf("c")).toEqual([]);
  expect(await occurrencesOf("d")).toEqual(isoOf(fifth, ninth));
});

test.each([
  ["alone", "old.due_at < '2026-03-06'"],
  ["with the row behind it", "true"],
])(
  "The end of a hold whose far row cannot come near (%s) is made up for later, and so are the occurrences after it",
  async (_, rows) => {
    for (const key of keys) {
      await world.put(key, { when: "0 9 * * *", catchUp: { policy: "all" } });
      await world.pause(key, { until: new Date("2026-03-05T12:00:00Z") });
    }
    await together(world);
    await world.clock.advance(day);
    await poison(world.sql, "plan_far", `old.schedule_id = ${await idOf(world, "c")} and ${rows}`);
    await ticksTo(new Date("2026-03-07T12:00:00Z"));
    expect(await quarantined(world)).toMatchObject([{ consumer: "plan" }]);
    await mend(world.sql, "plan_far");
    await ticksTo(new Date("2026-03-08T22:00:00Z"));
    expect(await quarantined(world)).toEqual([]);
    expect((await occurrencesOf("a")).length).toBeGreaterThan(5);
    for (const key of keys) expect(await occurrencesOf(key)).toEqual(await occurrencesOf("a"));
  },
);

test("A far row that another transaction has locked is set aside, and its neighbours come near", async () => {
  const id = await farRows();
  await world.sql.begin(async (tx) => {
    await tx`select from carillon.plan_far where schedule_id = ${id} for update`;
    await impatientTick(world);
    await world.tick();
  });
  expect(await quarantined(world)).toMatchObject([{ consumer: "plan", item: id }]);
  await world.clock.advance(minute);
  await world.tick();
  await tickAt(new Date(fifth.getTime() - minute));
  for (const key of keys) expect(await occurrencesOf(key)).toEqual(isoOf(fifth));
});

test("A far row on which statements hang is set aside, and its neighbours come near", async () => {
  const id = await farRows();
  await world.sql`select carillon.attach_days('2026-03-02', '2026-03-06')`;
  const failures: unknown[] = [];
  const { sql, queue, log } = world;
  const total = { batches: 0, jobs: 0, parcels: 0, finished: true };
  const note = (error: unknown) => void failures.push(error);
  // Each slice of the tick is over after its first step.
  const slice = () => {
    let asked = 0;
    return { sql, queue, log, settings: tickDefaults, timeIsUp: () => asked++ > 0, total, rated: [], note };
  };
  const bounds = { mustEnd: () => false, mostMs: { whole: 10_000, part: 10_000 } };
  await rowPoisons.slow.during(world, await ofBad("plan_far")(world), async () => {
    for (let each = 0; each < 6; each++) await bringAllNear(slice(), 3, bounds);
  });
  expect(failures).toEqual([]);
  expect(await quarantined(world)).toMatchObject([
    { consumer: "plan", item: id, tries: 1, reason: expect.stringContaining("57014") },
  ]);
  expect(await world.sql`select from carillon.plan where due_at = ${fifth}`).toHaveLength(4);
});

test("If the plan lock of the shard is not granted, no far row is set aside", async () => {
  await farRows();
  await world.sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock_shared(${planLock}::int, 3)`;
    await impatientTick(world);
    await expect(world.tick()).rejects.toThrow("parts of the tick failed");
  });
  expect(await quarantined(world)).toEqual([]);
  await world.tick();
  expect(await lineOf()).toEqual(new Date("2026-03-06T00:00:00Z"));
});

test("If the row of the shard cannot be written, no far row is set aside", async () => {
  await farRows();
  await poison(world.sql, "shards", "old.id = 3");
  await expect(world.tick()).rejects.toThrow("parts of the tick failed");
  expect(await quarantined(world)).toEqual([]);
  await mend(world.sql, "shards");
  await world.tick();
  expect(await lineOf()).toEqual(new Date("2026-03-06T00:00:00Z"));
});

test("The near line stays while far rows due before it are brought near", async () => {
  const id = await farRows();
  const before = await lineOf();
  await world.sql`select carillon.attach_days('2026-03-02', '2026-03-06')`;
  await world.sql`update carillon.plan_far set due_at = carillon.clock() where schedule_id = ${id}`;
  expect(await bringNear(world.sql, 3, { rowsMax: 1 })).toEqual({ moved: 1, more: true });
  expect(await lineOf()).toEqual(before);
});

test("A far row that was set aside stays in the far plan when the next day comes near", async () => {
  const id = await farRows();
  await keepFifth(id);
  await world.tick();
  await world.sql`update carillon.quarantine set next_at = next_at + interval '9 days'`;
  await world.clock.advance(day);
  await world.tick();
  expect(await quarantined(world)).toMatchObject([{ consumer: "plan", item: id, tries: 1 }]);
  expect(await lineOf()).toEqual(new Date("2026-03-07T00:00:00Z"));
});

test("A schedule whose far row has -infinity as due time and occurrence keeps its next occurrence when it is edited before the tick reads the row", async () => {
  const id = await farRows();
  await world.sql`update carillon.plan_far set due_at = '-infinity', occurrence = '-infinity' where schedule_id = ${id}`;
  await world.patch("c", { payload: { edited: true } });
  await world.tick();
  await tickAt(new Date(fifth.getTime() - minute));
  for (const key of keys) expect(await occurrencesOf(key)).toEqual(isoOf(fifth));
  expect(await quarantined(world)).toEqual([]);
});
