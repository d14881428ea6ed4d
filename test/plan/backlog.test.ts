import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { handOver } from "../../lib/parcel/hand-over.ts";
import { oldestOwed, wakeBacklog } from "../../lib/plan/backlog.ts";
import {
  admitBacklog,
  type BacklogSettings,
  backlogDefaults,
} from "../../lib/tick/housekeeping/admit-backlog.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute, second } from "../support/instants.ts";
import { connectAsMember } from "../support/role-logins.ts";
import { touched } from "../support/touched.ts";
import { until } from "../support/until.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

/** Schedules whose own occurrences are far away. */
async function schedules(count: number, body: object = {}): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    const { schedule } = await world.put(`k${index}`, { when: "every 30d", ...body });
    ids.push(schedule.id);
  }
  return ids;
}

/** Occurrences one second apart, the last of them yesterday. */
const lastOwed = at(-day);
const seconds = (count: number, last = lastOwed) =>
  Array.from({ length: count }, (_, index) => new Date(last.getTime() - (count - 1 - index) * second));

async function owe(scheduleId: string, occurrences: Date[], kind = "cadence"): Promise<void> {
  const dates = world.sql.array(occurrences);
  await world.sql`
    insert into carillon.backlog (schedule_id, shard, kind, version, occurrences, dues, turn_at, noted_at)
    select id, shard, ${kind}, version, ${dates}::timestamptz[], ${dates}::timestamptz[], carillon.clock(), carillon.clock()
    from carillon.schedules where id = ${scheduleId}`;
}

/** The backlog's part of a tick. Returns the number of parcels made. */
async function admit(settings: Partial<BacklogSettings> = {}, sql = world.sql): Promise<number> {
  const parcels = await admitBacklog({ sql, log: world.log }, { ...backlogDefaults, ...settings });
  await handOver(sql, world.queue, parcels);
  return parcels.length;
}

const rows = () =>
  world.sql<{ key: string; taken: number; owing: number; turnAt: Date }[]>`
    select s.key, b.taken, b.owing, b.turn_at as "turnAt" from carillon.backlog b join carillon.schedules s on s.id = b.schedule_id order by b.id`;

const passedOver = () =>
  world.sql`select from_at, to_at, count, reason from carillon.passed_over order by from_at`;

const letIn = async () => (await world.jobs()).length;

describe("a backlog row of few occurrences", () => {
  test("A backlog row of few occurrences becomes jobs at once, oldest first, and is deleted", async () => {
    const [id = ""] = await schedules(1);
    await owe(id, seconds(5));
    expect(await admit()).toBe(1);
    expect(await rows()).toEqual([]);
    await world.work();
    expect(world.delivered.map(({ occurrence }) => occurrence)).toEqual(
      seconds(5).map((occurrence) => occurrence.toISOString()),
    );
    expect(await world.jobs()).toMatchObject(
      seconds(5).map((occurrence) => ({
        occurrence,
        dueAt: occurrence,
        state: "succeeded",
        startedAt: at(0),
      })),
    );
  });

  test("Backlog jobs go in parcels of their shard and queue, marked as owed, like other cadence jobs", async () => {
    const [fast = "", other = ""] = await schedules(2);
    const { schedule: slow } = await world.put("slow", { when: "every 30d", target: { handler: "none" } });
    await world.sql`update carillon.schedules set shard = case key when 'k1' then 1 else 0 end`;
    for (const id of [fast, other, slow.id]) await owe(id, seconds(12));
    await admit();
    const parcels = await world.sql`
      select shard, queue, owed, kinds, cardinality(occurrences) as jobs from carillon.parcels order by shard, queue, jobs`;
    expect(parcels).toEqual([
      { shard: 0, queue: "fast", owed: true, kinds: null, jobs: 12 },
      { shard: 0, queue: "slow", owed: true, kinds: null, jobs: 2 },
      { shard: 0, queue: "slow", owed: true, kinds: null, jobs: 10 },
      { shard: 1, queue: "fast", owed: true, kinds: null, jobs: 12 },
    ]);
  });

  test("A backlog job is never ready before it is due", async () => {
    const [id = ""] = await schedules(1);
    await owe(id, [at(0), at(30 * second)]);
    await admit();
    expect((await world.sql`select ready_at from carillon.parcels`)[0]).toEqual({
      ready_at: at(30 * second),
    });
  });
});

describe("a backlog row of many occurrences", () => {
  test("A backlog row of many occurrences becomes jobs at the set pace, in steps of two seconds", async () => {
    const [id = ""] = await schedules(1);
    await owe(id, seconds(50));
    await admit({ budget: 600 });
    const ready = await world.sql`
      select ready_at as at, count(*)::int as jobs from carillon.jobs group by 1 order by 1`;
    expect(ready).toEqual([
      { at: at(0), jobs: 20 },
      { at: at(2 * second), jobs: 20 },
      { at: at(4 * second), jobs: 10 },
    ]);
    await world.work();
    expect(world.delivered).toHaveLength(20);
    await world.clock.advance(10 * second);
    await world.work();
    expect(world.delivered).toHaveLength(50);
  });

  test("A backlog row of many occurrences continues with the next tick when the budget is used up, and is deleted after the last", async () => {
    const [id = ""] = await schedules(1);
    await owe(id, seconds(250));
    for (const owing of [150, 50]) {
      await admit({ budget: 100 });
      expect(await rows()).toMatchObject([{ owing }]);
      await world.clock.advance(minute);
      await world.work();
    }
    await admit({ budget: 100 });
    expect(await rows()).toEqual([]);
    await world.clock.advance(minute);
    await world.work();
    expect(world.delivered.map(({ occurrence }) => occurrence).sort()).toEqual(
      seconds(250).map((occurrence) => occurrence.toISOString()),
    );
  });

  test("A backlog row of many occurrences waits while the jobs made before are not done", async () => {
    const [id = ""] = await schedules(1);
    await owe(id, seconds(250));
    await admit({ budget: 100 });
    await world.clock.advance(minute);
    expect(await admit({ budget: 100 })).toBe(0);
    expect(await rows()).toMatchObject([{ owing: 150 }]);
    await world.work();
    await world.clock.advance(minute);
    expect(await admit({ budget: 100 })).toBeGreaterThan(0);
  });

  test("The backlog of a queue with slow workers does not block that of the other queue", async () => {
    const { schedule: slow } = await world.put("slow", { when: "every 30d", target: { handler: "none" } });
    await owe(slow.id, seconds(300));
    await admit({ budget: 100 });
    const [fast = ""] = await schedules(1);
    await owe(fast, seconds(20));
    await world.clock.advance(minute);
    await admit({ budget: 100 });
    expect(await rows()).toMatchObject([{ key: "slow", owing: 200 }]);
  });
});

describe("several backlog rows", () => {
  test("Several backlog rows take turns of a bounded number of occurrences, again and again while the budget lasts", async () => {
    for (const id of await schedules(3)) await owe(id, seconds(250));
    await admit({ budget: 200 });
    expect(await rows()).toMatchObject([{ taken: 100 }, { taken: 100 }, { taken: 0 }]);
    await world.clock.advance(minute);
    await world.work();
    await admit({ budget: 200 });
    expect(await rows()).toMatchObject([{ taken: 200 }, { taken: 100 }, { taken: 100 }]);
    await world.clock.advance(minute);
    await world.work();
    await admit({ budget: 60_000 });
    expect(await rows()).toEqual([]);
    await world.clock.advance(minute);
    await world.work();
    expect(new Set(world.delivered.map(({ key, occurrence }) => key + occurrence)).size).toBe(750);
  });

  test("All backlog rows become jobs, also if there are more of them than one round reads", async () => {
    const [id = ""] = await schedules(1);
    await world.sql`
      insert into carillon.backlog (schedule_id, shard, version, occurrences, dues, turn_at, noted_at)
      select id, shard, 1, array[o, o + interval '1 ms'], array[o, o], carillon.clock(), carillon.clock()
      from carillon.schedules, generate_series(${lastOwed}::timestamptz, ${lastOwed}::timestamptz + interval '1200 s', interval '1 s') o
      where id = ${id}`;
    await admit();
    expect(await rows()).toEqual([]);
    expect(await letIn()).toBe(2 * 1_201);
  });
});

describe("the backlog of a held schedule", () => {
  test("The backlog of a held schedule waits, blocks no other schedule, and continues when a resume wakes it", async () => {
    const [held = "", other = ""] = await schedules(2);
    await owe(held, seconds(5));
    await owe(other, seconds(5));
    await world.pause("k0");
    await admit();
    expect(await rows()).toMatchObject([{ key: "k0", owing: 5 }]);
    await world.clock.advance(second);
    await world.resume("k0");
    await world.sql.begin((tx) => wakeBacklog(tx, [held]));
    await admit();
    expect(await rows()).toEqual([]);
  });

  test("The backlog of a schedule whose hold is gone continues within minutes, also if no resume wakes it", async () => {
    const [held = ""] = await schedules(1);
    await owe(held, seconds(5));
    await world.pause("k0");
    await admit();
    await world.sql`update carillon.schedules set held_since = null`;
    await world.clock.advance(6 * minute);
    await admit();
    expect(await rows()).toEqual([]);
  });

  test("The backlog of a held schedule continues at the moment when its hold ends by itself", async () => {
    const [id = ""] = await schedules(1);
    await owe(id, seconds(5));
    await world.sql`update carillon.schedules set held_since = carillon.clock(), held_until = ${at(30 * second)}`;
    await admit();
    expect(await rows()).toMatchObject([{ owing: 5, turnAt: at(30 * second + 1) }]);
    await world.clock.setNow(at(30 * second + 1));
    await admit();
    expect(await rows()).toEqual([]);
  });
});

describe("the backlog from before a hold with an end", () => {
  test("Occurrences from before a hold with an end stay in the backlog when the hold is released early", async () => {
    const [id = ""] = await schedules(1, { when: "every 1m", catchUp: { policy: "all" } });
    await owe(id, seconds(5));
    await world.pause("k0", { until: at(30 * second) });
    await admit();
    await world.clock.advance(10 * second);
    await world.resume("k0");
    expect(await rows()).toMatchObject([{ owing: 5 }]);
    await world.clock.advance(minute);
    await admit();
    expect(await rows()).toEqual([]);
  });

  test("Occurrences from before a hold are kept apart from those that its end releases, even at the same instant", async () => {
    const [id = ""] = await schedules(1, { when: "every 1s", catchUp: { policy: "all" } });
    await world.tick();
    await owe(id, seconds(5));
    const until = at(3 * minute);
    await world.pause("k0", { until });
    await world.sql`update carillon.backlog set turn_at = ${until}`;
    await world.clock.advance(10 * second);
    await world.resume("k0");
    expect(await rows()).toMatchObject([{ owing: 5 }]);
  });
});

describe("the backlog of a lane", () => {
  test("Backlog jobs of a lane run one at a time in the order of occurrences, and before later jobs", async () => {
    const [id = ""] = await schedules(1, { overlap: "queue" });
    await owe(id, seconds(120));
    await admit({ budget: 60 });
    expect(await world.sql`select from carillon.lane_entries`).toHaveLength(60);
    for (let rounds = 0; rounds < 4; rounds++) {
      await world.work();
      await world.clock.advance(minute);
      await admit({ budget: 60 });
      await world.tick();
    }
    await world.work();
    expect(world.delivered.map(({ occurrence }) => occurrence)).toEqual(
      seconds(120).map((occurrence) => occurrence.toISOString()),
    );
  });

  test("A backfill in the backlog does not enter its schedule's lane", async () => {
    const [id = ""] = await schedules(1, { overlap: "queue" });
    await owe(id, seconds(5), "backfill");
    await admit();
    expect(await world.sql`select from carillon.lane_entries`).toHaveLength(0);
    await world.work();
    expect(world.delivered).toHaveLength(5);
  });
});

describe("occurrences that can no longer run", () => {
  test("The backlog of a deleted schedule is dropped, and the ledger notes it", async () => {
    const [id = ""] = await schedules(1);
    await owe(id, seconds(250));
    await admit({ budget: 100 });
    await world.remove("k0");
    await world.clock.advance(minute);
    await admit();
    expect(await rows()).toEqual([]);
    expect(await passedOver()).toEqual([
      { from_at: seconds(150)[0], to_at: lastOwed, count: "150", reason: "deleted" },
    ]);
  });

  test("An occurrence whose day was dropped is passed over, and the ledger notes it", async () => {
    const [id = ""] = await schedules(1);
    const kept = new Date(lastOwed.getTime() - 9 * second);
    await world.sql`update carillon.retention set kept_from = ${kept}`;
    await owe(id, seconds(30));
    await admit();
    expect(await rows()).toEqual([]);
    expect(await world.jobs()).toMatchObject(seconds(10).map((occurrence) => ({ occurrence })));
    expect(await passedOver()).toEqual([
      {
        from_at: seconds(30)[0],
        to_at: new Date(kept.getTime() - second),
        count: "20",
        reason: "retention",
      },
    ]);
  });
});

describe("an occurrence of long ago", () => {
  test("An occurrence of long ago runs, because the partition of its day is attached", async () => {
    const [id = ""] = await schedules(1);
    const old = [at(-20 * day), at(-18 * day), at(-18 * day + hour)];
    await owe(id, old);
    await admit();
    await world.work();
    expect(await world.jobs()).toMatchObject(old.map((occurrence) => ({ occurrence, state: "succeeded" })));
  });
});

describe("two ticks at once, or one that is killed", () => {
  test("Concurrent ticks make each backlog job once", async () => {
    for (const id of await schedules(6)) await owe(id, seconds(400));
    const others = [1, 2, 3].map(() => connect({ DATABASE_URL: world.databaseUrl }));
    try {
      await Promise.all(others.map((sql) => admit({ budget: 2_400, perTurn: 7 }, sql)));
      await admit({ budget: 10_000 });
    } finally {
      await Promise.all(others.map((sql) => sql.end()));
    }
    expect(await rows()).toEqual([]);
    await world.clock.advance(2 * minute);
    await world.work();
    const keys = world.delivered.map(({ key, occurrence }) => `${key} ${occurrence}`);
    expect(keys).toHaveLength(2_400);
    expect(new Set(keys).size).toBe(2_400);
    expect(await world.sql`select from carillon.parcels`).toHaveLength(0);
  });

  test("A tick killed between its statements has made nothing, and the next one makes everything", async () => {
    const [id = ""] = await schedules(1);
    await owe(id, seconds(40));
    const dying = connect({ DATABASE_URL: world.databaseUrl }, { applicationName: "dying" });
    const ends = await world.sql.begin(async (tx) => {
      await tx`lock table carillon.jobs in access exclusive mode`;
      const admitting = Promise.allSettled([admitBacklog({ sql: dying, log: world.log }, backlogDefaults)]);
      await until("it waits for the lock", async () => {
        const [waiting] = await world.sql`
          select pid from pg_stat_activity where application_name = 'dying' and datname = current_database() and wait_event_type = 'Lock'`;
        return waiting;
      });
      await world.sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'dying' and datname = current_database()`;
      return admitting;
    });
    expect(ends).toMatchObject([{ status: "rejected" }]);
    await dying.end();
    expect(await rows()).toMatchObject([{ taken: 0 }]);
    expect(await letIn()).toBe(0);
    await admit();
    await world.work();
    expect(world.delivered).toHaveLength(40);
  });
});

describe("the backlog", () => {
  test("The backlog needs only the rights of the tick", async () => {
    const [live = "", gone = "", held = ""] = await schedules(3);
    for (const id of [live, gone, held]) await owe(id, [at(-20 * day), ...seconds(5)]);
    await world.remove("k1");
    await world.pause("k2");
    const ticking = await connectAsMember(world.sql, world.databaseUrl, "carillon_tick");
    await admit({}, ticking);
    await ticking.end();
    expect(await rows()).toMatchObject([{ key: "k2" }]);
    expect(await letIn()).toBe(6);
  });

  test("The backlog costs one index lookup while it is empty", async () => {
    await schedules(3);
    const sql = connect({ DATABASE_URL: world.databaseUrl });
    const of = await touched(sql, () => admitBacklog({ sql, log: world.log }, backlogDefaults));
    await sql.end();
    expect(Object.keys(of.index).filter((name) => !name.startsWith("backlog"))).toEqual([]);
    expect(Object.keys(of.scanned).filter((name) => !["backlog", "test_clock"].includes(name))).toEqual([]);
  });

  test("The backlog tells the oldest occurrence of a schedule, and whether it has one before a given occurrence", async () => {
    const [id = "", other = ""] = await schedules(2);
    await owe(id, [at(-3 * hour), at(-2 * hour)]);
    await owe(other, [at(-5 * hour)], "backfill");
    const owes = async (schedule: string, occurrence: Date) => {
      const [row] = await world.sql<{ owes: boolean }[]>`
        select carillon.owes_before(${schedule}, ${occurrence}) as owes`;
      return row?.owes;
    };
    expect(await owes(id, at(-3 * hour))).toBe(false);
    expect(await owes(id, at(-2 * hour))).toBe(true);
    expect(await owes(other, at(0))).toBe(false);
    expect(await oldestOwed(world.sql, [id, other])).toEqual(new Map([[id, at(-3 * hour)]]));
    await admit({ perTurn: 1, budget: 1 });
    expect(await owes(id, at(-2 * hour))).toBe(false);
    expect(await owes(id, at(-1 * hour))).toBe(true);
    expect(await oldestOwed(world.sql, [id, other])).toEqual(new Map([[id, at(-2 * hour)]]));
  });
});
