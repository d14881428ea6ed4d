import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import type { Operation } from "../../lib/batch/operation.ts";
import { readCalendarRules } from "../../lib/cadence/calendar-rules.ts";
import { deleteSchedule, patchSchedule, putSchedule } from "../../lib/edit/schedule-edits.ts";
import { pauseSchedule, resumeSchedule } from "../../lib/edit/schedule-holds.ts";
import { Refusal } from "../../lib/refusal.ts";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { type Carillon, carillon } from "../support/carillon.ts";

/**
 * Many operations have the same result as each of them alone: the same rows, regardless of which
 * are decided and written together.
 */

const caller = { name: "ann" };

const bodies = [
  { when: "every 1m" },
  { when: "every 1m", payload: { changed: true } },
  { when: "in 30s" },
  { when: "in 10m", target: { handler: "greet" } },
  { when: "0 9 * * *", timezone: "Europe/Berlin" },
  { when: "*/2 * * * *", group: "g", tags: ["a", "b"] },
  { when: "every 2m", group: "g", serial: true },
  { when: "every 1m", overlap: "queue" },
  { when: "every 1m", maxFires: 3 },
  { when: "every 1m", spread: "90s" },
  { when: "every 1m", endsAt: "2026-03-02T10:04:00Z" },
  { when: "every 5m", paused: true },
  { when: "at 2020-01-01T00:00:00Z" },
  { when: "every 1m", target: { handler: "greet" }, group: "h" },
  { when: "every 1m", calendar: { name: "today", on: "skip" } },
  { when: "*/7 * * * * *", calendar: { name: "tomorrow", on: "skip" }, maxFires: 40 },
  { when: "0 11 * * *", calendar: { name: "today", on: "next" } },
].map((body) => parseScheduleBody({ target: { queue: "demo" }, ...body }));

const patches = [
  { payload: 7 },
  { when: "every 3m" },
  { tags: ["c"] },
  { when: "nonsense" },
  { paused: true },
  { group: null },
];

const operation = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant("put" as const), body: fc.constantFrom(...bodies) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("patch" as const), patch: fc.constantFrom(...patches) }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: "delete" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "pause" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "resume" as const }) },
);
const keyed = fc
  .tuple(
    fc.constantFrom("k1", "k2", "k3", "k4"),
    operation,
    fc.option(fc.constantFrom([1], [2]), { nil: undefined, freq: 6 }),
  )
  .map(
    ([key, rest, ifMatch]): Operation => ({
      key,
      caller,
      ...rest,
      ...(ifMatch === undefined ? {} : { ifMatch }),
    }),
  );
/**
 * Batches, each followed by a number of seconds: more than 60 with a tick, negative ones without.
 */
const life = fc.array(
  fc.tuple(fc.array(keyed, { minLength: 1, maxLength: 8 }), fc.constantFrom(0, 20, 75, 200, -300)),
  {
    minLength: 1,
    maxLength: 4,
  },
);

async function alone(world: Carillon, each: Operation): Promise<string> {
  const deps = { sql: world.as.api, queue: world.queue };
  try {
    switch (each.kind) {
      case "put":
        return (await putSchedule(deps, each)).change;
      case "patch":
        return (await patchSchedule(deps, each)).change;
      case "delete":
        await deleteSchedule(deps, each);
        return "deleted";
      case "pause":
        return (await pauseSchedule(deps, each)).change;
      case "resume":
        return (await resumeSchedule(deps, each)).change;
    }
  } catch (error) {
    if (error instanceof Refusal) return `refused: ${error.kind}`;
    throw error;
  }
}

async function together(world: Carillon, operations: readonly Operation[]): Promise<string[]> {
  const applied = await applyOperations({ sql: world.as.api, queue: world.queue }, operations);
  return applied.map((each) => (each.change === "refused" ? `refused: ${each.refusal.kind}` : each.change));
}

/** All rows without meaningless differences: ids, and how jobs are packed into parcels. */
async function dump({ sql }: Carillon) {
  const n = sql`rank() over (partition by key order by id)::int as n`;
  const ordered = sql`(select *, ${n} from carillon.schedules) s`;
  return {
    schedules: await sql`
      select key, n, version, spec_version, held_since, held_until, deleted_at, group_key, tags, target_kind, max_fires, fires, overlap,
        lane is null as free, fresh_version, updated_at from ${ordered} order by key, n`,
    versions: await sql`
      select s.key, s.n, v.version, v.change, v.spec_version, v.held, v.once_at, v.first_at, v.every_ms, c.expression, v.ends_at, v.body, v.target,
        v.payload from carillon.schedule_versions v join ${ordered} on s.id = v.schedule_id left join carillon.cadences c on c.id = v.cadence_id
      order by 1, 2, 3`,
    audit: await sql`
      select s.key, s.n, a.version, a.actor, a.action, a.at, a.detail from carillon.audit a join ${ordered} on s.id = a.schedule_id order by 1, 2, 3, 5`,
    plan: await sql`
      select s.key, p.due_at, p.occurrence, p.every_ms, p.governed
      from (select * from carillon.plan union all select * from carillon.plan_far) p
      join ${ordered} on s.id = p.schedule_id and s.version = p.version and s.deleted_at is null
      join carillon.shards h on h.id = s.shard and (p.due_at, s.id) > (h.watermark_at, h.watermark_schedule)
      order by 1, 2, 3`,
    jobs: await sql`
      select s.key, s.n, j.occurrence, j.due_at, j.state, j.reason, j.kind, j.version from carillon.jobs j
      join ${ordered} on s.id = j.schedule_id order by 1, 2, 3, 7`,
    passed: await sql`
      select s.key, s.n, p.from_at, p.to_at, p.count::int, p.more, p.reason from carillon.passed_over p
      join ${ordered} on s.id = p.schedule_id order by 1, 2, 3, 4, 7`,
    holds:
      await sql`select s.key, s.n, h.owner, h.since, h.until from carillon.holds h join ${ordered} on s.id = h.schedule_id order by 1, 2, 3`,
    lanes: await sql`
      select s.key, e.due_at, e.occurrence from carillon.lane_entries e join ${ordered} on s.id = e.schedule_id order by 1, 2, 3`,
    carried: await sql`
      select s.key, k.occurrence, p.held_schedule is null as free, p.lane is null as passing
      from carillon.parcels p cross join lateral unnest(p.occurrences, p.schedule_ids) k (occurrence, schedule_id)
      join ${ordered} on s.id = k.schedule_id join carillon.jobs j on j.parcel_id = p.id and j.occurrence = k.occurrence and j.schedule_id = s.id
      order by 1, 2`,
  };
}

/** The schedules begin on the second of March. */
const calendars = { today: "2026-03-02", tomorrow: "2026-03-03" };

async function withCalendars(): Promise<Carillon> {
  const world = await carillon();
  for (const [name, day] of Object.entries(calendars)) {
    const read = readCalendarRules({ dates: [day] });
    if (!read.ok) throw new Error(JSON.stringify(read.faults));
    await putCalendar(world, { name, body: { description: null, rules: read.rules }, caller });
  }
  return world;
}

const lives = Number(process.env["CARILLON_LIVES"] ?? 10);

/** Edits of one schedule that follow each other, nearly all of which are written together. */
const followers = [
  ...bodies.slice(0, 5),
  ...bodies.slice(-3),
  ...[
    { when: "*/2 * * * *", tags: ["a"] },
    { when: "in 0s" },
    { when: ["0 9 * * *", "every 7m"] },
    { when: "every 1m", target: { handler: "greet" }, payload: { n: 1 } },
    { when: "every 1m", startsAt: "2026-03-02T10:01:00Z", retry: { attempts: 9 } },
    { when: "every 90s", deleteOnEnd: true, endsAt: "2026-03-02T10:04:00Z" },
  ].map((body) => parseScheduleBody({ target: { queue: "demo" }, ...body })),
];
const following = fc
  .oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant("put" as const), body: fc.constantFrom(...followers) }),
    },
    {
      weight: 5,
      arbitrary: fc.record({ kind: fc.constant("patch" as const), patch: fc.constantFrom(...patches) }),
    },
    { weight: 1, arbitrary: operation },
  )
  .map((rest): Operation => ({ key: "k", caller, ...rest }));
const lifeOfOne = fc.array(
  fc.tuple(fc.array(following, { minLength: 3, maxLength: 10 }), fc.constantFrom(0, 20, 75, 75, 200, -300)),
  { minLength: 1, maxLength: 4 },
);

describe("many operations at once", () => {
  test.each([
    ["many operations have the same result as each alone", life],
    ["many operations of one key have the same result as each alone", lifeOfOne],
  ])(
    "%s",
    async (_, lived) => {
      await fc.assert(
        fc.asyncProperty(lived, async (steps) => {
          const [one, many] = await Promise.all([withCalendars(), withCalendars()]);
          try {
            for (const [operations, seconds] of steps) {
              const expected: string[] = [];
              for (const each of operations) expected.push(await alone(one, each));
              expect(await together(many, operations)).toEqual(expected);
              expect(await dump(many)).toEqual(await dump(one));
              for (const world of [one, many]) {
                await world.clock.advance(Math.abs(seconds) * 1_000);
                if (seconds > 60) await world.tick();
                await world.work();
              }
            }
            expect(await dump(many)).toEqual(await dump(one));
          } finally {
            await Promise.all([one.stop(), many.stop()]);
          }
        }),
        { numRuns: lives },
      );
    },
    lives * 10_000,
  );
});
