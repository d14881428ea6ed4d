import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Cadence } from "../../lib/cadence/cadence-kinds.ts";
import { fire } from "../../lib/plan/fire.ts";
import { momentOf, passedSinglyMax, type Unfolded, unfold } from "../../lib/plan/instants.ts";
import { missedAfterMs } from "../../lib/plan/shard.ts";
import { plainCatchUp } from "../../lib/schedule/stored/timetable.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeAll(async () => {
  world = await carillon();
  await world.sql`select carillon.attach_days('2026-02-09', '2026-03-06')`;
});

afterAll(() => world.stop());

const now = at(0).getTime();

interface Planned {
  everyMs: number;
  planned: number;
  bound: number;
  lagMs: number;
}

/** A schedule of an interval, its planned occurrence, and the bound up to which it is unfolded. */
const plannedInterval: fc.Arbitrary<Planned> = fc
  .record({
    everyMs: fc.oneof(
      fc.integer({ min: 1_000, max: 20 * second }),
      fc.integer({ min: 1_000, max: 40 * day }),
      fc.constantFrom(second, minute, 2 * minute, 7 * minute, hour, day),
    ),
    late: fc.oneof(
      fc.integer({ min: -180 * second, max: 10 * minute }),
      fc.integer({ min: -180 * second, max: 10 * day }),
      // At the limit between late and missed.
      fc.constantFrom(missedAfterMs - 1, missedAfterMs, missedAfterMs + 1),
    ),
    steps: fc.integer({ min: 0, max: 15 }),
    lagMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: day })),
    beyond: fc.oneof(fc.constant(180 * second), fc.integer({ min: -40 * minute, max: 180 * second })),
  })
  .map(({ everyMs, late, steps, beyond, lagMs }) => {
    // Close to a step beyond the limit, so that counts around ten, and steps exactly at the limit,
    // are frequent.
    const planned = now - late - (steps % 3 === 0 ? 0 : Math.min(10 * day, steps * everyMs));
    return { everyMs, planned: planned - lagMs, bound: Math.max(planned, now + beyond), lagMs };
  });

test("Intervals are unfolded in SQL exactly as in JavaScript, missed ones included", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(plannedInterval, { minLength: 1, maxLength: 25 }), async (plans) => {
      const fired = await fireAll(plans);
      expect(fired).toEqual(plans.map(expectedOf));
    }),
    { numRuns: 100 },
  );
});

interface Became {
  runs: number[];
  passed: number[];
  range: { from: number; to: number; count: number; more: boolean } | null;
  next: number | null;
}

/** The result of unfolding a schedule without further rules in JavaScript. */
function unfolded(cadence: Cadence, planned: number, bound: number, lagMs = 0): Became {
  const timetable = { cadence, lagMs, slotMs: null, catchUp: plainCatchUp, firesLeft: null };
  return becameOf(unfold(timetable, planned, momentOf(timetable, { now, bound, missedAfterMs })));
}

function becameOf({ runs, passed, ranges, next }: Unfolded): Became {
  const [range = null] = ranges.map(({ from, to, count, more }) => ({ from, to, count, more }));
  const instants = (of: readonly { at: number }[]) => of.map(({ at: instant }) => instant);
  return { runs: instants(runs), passed: instants(passed), range, next: next?.at ?? null };
}

function expectedOf({ everyMs, planned, bound, lagMs }: Planned): Became {
  const expected = unfolded({ kind: "interval", everyMs, firstAt: planned }, planned, bound, lagMs);
  const { range } = expected;
  // SQL counts all of them; JavaScript stops at a limit and sets `more`.
  if (range?.more)
    return { ...expected, range: { ...range, count: (range.to - range.from) / everyMs + 1, more: false } };
  return expected;
}

/** Fires one schedule per plan, in one statement, and reads back the result. */
async function fireAll(plans: readonly Planned[]): Promise<Became[]> {
  const made = await world.sql<{ id: string }[]>`
    insert into carillon.schedules (shard, queue, key, target_kind, created_at, created_by, updated_at, updated_by)
    select 1, 'fast', gen_random_uuid()::text, 'queue', carillon.clock(), 't', carillon.clock(), 't'
    from generate_series(1, ${plans.length}::int) returning id`;
  const ids = made.map(({ id }) => id).sort((a, b) => Number(a) - Number(b));
  const dates = (of: (plan: Planned) => number) => world.sql.array(plans.map((plan) => new Date(of(plan))));
  await world.sql.begin((tx) =>
    fire(tx, {
      source: tx`
        select due_at, planned as occurrence, schedule_id, every_ms, 1 as version, null::int as cadence_id, null::boolean as governed,
          false as own, bound
        from unnest(${ids}::bigint[], ${plans.map(({ everyMs }) => everyMs)}::bigint[], ${dates(({ planned }) => planned)}::timestamptz[],
          ${dates(({ planned, lagMs }) => planned + lagMs)}::timestamptz[], ${dates(({ bound }) => bound)}::timestamptz[])
          p (schedule_id, every_ms, planned, due_at, bound)`,
      shard: 1,
      now: new Date(now),
      nearUntil: at(day),
      unfolded: [],
    }),
  );
  const jobs = await world.sql<{ id: string; at: Date; due: Date; state: string; listed: boolean }[]>`
    select j.schedule_id as id, j.occurrence as at, j.due_at as due, j.state,
      array_position(p.schedule_ids, j.schedule_id) is not null and p.ready_at between j.due_at and j.due_at + interval '250 ms' as listed
    from carillon.jobs j left join carillon.parcels p on p.id = j.parcel_id
    where j.schedule_id = any(${ids}::bigint[]) order by j.occurrence`;
  const next = await world.sql<{ id: string; at: Date }[]>`
    select schedule_id as id, occurrence as at from carillon.plan where schedule_id = any(${ids}::bigint[]) and due_at < ${at(day)}
    union all select schedule_id, occurrence from carillon.plan_far where schedule_id = any(${ids}::bigint[]) and due_at >= ${at(day)}`;
  const ranges = await world.sql<{ id: string; from: Date; to: Date; count: string; more: boolean }[]>`
    select schedule_id as id, from_at as from, to_at as to, count, more from carillon.passed_over where schedule_id = any(${ids}::bigint[])`;
  const lags = new Map(plans.map(({ lagMs }, index) => [ids[index], lagMs]));
  expect(jobs.filter(({ id, at, due }) => at.getTime() + (lags.get(id) ?? 0) !== due.getTime())).toEqual([]);
  expect(jobs.filter(({ state, listed }) => (state === "waiting") !== listed)).toEqual([]);
  return ids.map((id) => {
    const own = jobs.filter((job) => job.id === id);
    const instants = (state: string) =>
      own.filter((job) => job.state === state).map((job) => job.at.getTime());
    const [range] = ranges.filter((each) => each.id === id);
    return {
      runs: instants("waiting"),
      passed: instants("skipped"),
      range:
        range === undefined
          ? null
          : {
              from: range.from.getTime(),
              to: range.to.getTime(),
              count: Number(range.count),
              more: range.more,
            },
      next: next.find((row) => row.id === id)?.at.getTime() ?? null,
    };
  });
}

const every = (everyMs: number, planned: number) =>
  ({ kind: "interval", everyMs, firstAt: planned }) as const;
const edge = now - missedAfterMs;

test("An occurrence two minutes old is late, one a millisecond older is missed", () => {
  const bound = now + 1;
  expect(unfolded(every(hour, edge), edge, bound)).toMatchObject({ runs: [edge], passed: [] });
  expect(unfolded(every(minute, edge - 1), edge - 1, bound)).toMatchObject({
    runs: [edge - 1, edge - 1 + minute, edge - 1 + 2 * minute],
    passed: [],
  });
});

test.each([passedSinglyMax, passedSinglyMax + 1])(
  "%i missed occurrences before the newest: up to ten are noted singly, more as a range",
  (count) => {
    const planned = edge - 1 - count * hour;
    const became = unfolded(every(hour, planned), planned, now);
    expect(became.runs).toEqual([edge - 1]);
    const range = { from: planned, to: edge - 1 - hour, count, more: false };
    if (count <= passedSinglyMax) expect(became).toMatchObject({ range: null, next: edge - 1 + hour });
    else expect(became).toMatchObject({ passed: [], range });
    expect(became.passed).toHaveLength(count <= passedSinglyMax ? count : 0);
  },
);

test("An occurrence beyond the bound is neither run nor passed over, however late it is", () => {
  const planned = edge - 10 * hour;
  expect(unfolded(every(hour, planned), planned, planned + 2 * hour)).toEqual({
    runs: [planned + 2 * hour],
    passed: [planned, planned + hour],
    range: null,
    next: planned + 3 * hour,
  });
});
