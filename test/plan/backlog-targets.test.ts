import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { explain } from "../../lib/explain/explain.ts";
import { setLimits } from "../../lib/limit/limits.ts";
import { handOver } from "../../lib/parcel/hand-over.ts";
import { BacklogRoom } from "../../lib/plan/backlog-room.ts";
import { done, failed } from "../../lib/target/delivery.ts";
import { admitBacklog } from "../../lib/tick/housekeeping/admit-backlog.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, minute } from "../support/instants.ts";
import { touched } from "../support/touched.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const budget = 200;

/** A schedule with backlog occurrences, in rows of one occurrence each or in one row. */
async function owing(key: string, target: object, jobs: number, rows = 1): Promise<void> {
  const retry = { attempts: 100, backoff: "fixed", base: "1h", max: "1h" };
  await world.put(key, { when: "every 1s", startsAt: at(30 * day).toISOString(), target, retry });
  await world.sql`
    insert into carillon.backlog (schedule_id, shard, kind, version, occurrences, dues, turn_at, noted_at)
    select s.id, s.shard, 'cadence', s.version, array_agg(o order by o), array_agg(o order by o), carillon.clock() - interval '1 hour', carillon.clock()
    from carillon.schedules s cross join generate_series(1, ${jobs}) n cross join lateral (select ${at(-day)}::timestamptz + n * interval '1 second' as o) i
    where s.key = ${key} group by s.id, n % ${rows}`;
}

async function admit(sql = world.sql): Promise<void> {
  await handOver(
    world.sql,
    world.queue,
    await admitBacklog({ sql, log: world.log }, { budget, perTurn: 100 }),
  );
}

const letIn = async (key: string) => (await world.jobs(key)).length;

const dead = { handler: "dead" };
const fine = { handler: "fine" };

describe("the backlog of a stuck target", () => {
  test("The backlog of a stuck target leaves the other targets of its queue class room, however large it is", async () => {
    await owing("dead", dead, 1_000);
    await admit();
    await owing("fine", fine, 1_000);
    await world.clock.advance(minute);
    await admit();
    expect(await letIn("dead")).toBe(200);
    expect(await letIn("fine")).toBe(100);
  });

  test("The backlog of a stuck target leaves room to others while its jobs wait for a turn", async () => {
    await setLimits(world, {
      target: "handler/dead",
      limits: { concurrency: 1, rate: null },
      caller: { name: "ann" },
    });
    world.outcome = () => failed("not yet");
    await owing("dead", dead, 1_000);
    await admit();
    await world.clock.advance(minute);
    await world.work();
    await owing("fine", fine, 1_000);
    await admit();
    expect(await letIn("dead")).toBe(200);
    expect(await letIn("fine")).toBe(100);
  });

  test("The backlog of a stuck target blocks no other target, however many of its rows come first", async () => {
    await owing("dead", dead, 200);
    await admit();
    await owing("more", dead, 12_000, 12_000);
    await owing("fine", fine, 10);
    await world.clock.advance(minute);
    await admit();
    expect(await letIn("fine")).toBe(10);
    expect(await letIn("more")).toBe(0);
  });

  test("The rows of a full target are skipped without reading them", async () => {
    await owing("dead", dead, 200);
    await admit();
    await owing("more", dead, 3_000, 3_000);
    await owing("fine", fine, 10);
    await world.clock.advance(minute);
    const sql = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
    const { index } = await touched(sql, () => admit(sql));
    await sql.end();
    const read = Object.entries(index).filter(([name]) => name.startsWith("backlog"));
    expect(Math.max(...read.map(([, entries]) => entries))).toBeLessThan(200);
    expect(await letIn("fine")).toBe(10);
  });

  test("The backlog of a full target continues as its jobs end", async () => {
    await owing("dead", dead, 1_000);
    await admit();
    await world.clock.advance(minute);
    await admit();
    expect(await letIn("dead")).toBe(200);
    await world.work();
    await admit();
    expect(await letIn("dead")).toBe(400);
  });

  test("The backlog of a schedule that gets another target does not wait for the old target", async () => {
    await owing("first", dead, 200);
    await admit();
    await owing("moved", dead, 10);
    await world.patch("moved", { target: fine });
    await world.clock.advance(minute);
    await admit();
    expect(await letIn("moved")).toBe(10);
  });
});

describe("the backlog of a queue with a limit", () => {
  test("The backlog of a queue with a limit is counted apart from other queues, also if the limit is set later", async () => {
    await owing("limited", { queue: "limited" }, 1_000, 10);
    await setLimits(world, {
      target: "queue/limited",
      limits: { concurrency: 1, rate: null },
      caller: { name: "ann" },
    });
    await admit();
    await owing("plain", { queue: "plain" }, 150);
    await world.clock.advance(minute);
    await admit();
    expect(await letIn("limited")).toBe(200);
    expect(await letIn("plain")).toBe(100);
    const rows = await world.sql`
      select distinct t.name from carillon.backlog b join carillon.schedules s on s.id = b.schedule_id left join carillon.targets t on t.id = b.target_id
      where s.key = 'limited'`;
    expect(rows).toEqual([{ name: "queue/limited" }]);
  });
});

describe("jobs that left the backlog", () => {
  test("Backlog jobs of queues without a limit do not count as under way while they wait an hour for a retry", async () => {
    world.outcome = ({ key }) => (key === "refused" ? failed("refused") : done);
    await owing("refused", { queue: "refused" }, 400);
    await admit();
    await world.clock.advance(minute);
    await world.work();
    await owing("plain", { queue: "plain" }, 100);
    await admit();
    expect(await letIn("plain")).toBe(100);
  });

  test("Backlog jobs do not count as under way while their schedule is paused", async () => {
    await owing("paused", { queue: "demo" }, 200);
    await admit();
    await world.pause("paused");
    await world.clock.advance(minute);
    await world.work();
    await owing("plain", { queue: "demo" }, 100);
    await admit();
    expect(await letIn("plain")).toBe(100);
  });
});

describe("the room of the backlog", () => {
  const slow = (target: number) => ({ queue: "slow" as const, target, team: null });

  test("One target may have the whole budget of the backlog under way while no other target has any", () => {
    expect(new BacklogRoom(60_000, []).of(slow(1))).toBe(60_000);
  });

  test("Targets that all have further backlog get equal shares of the budget", () => {
    const going = new Map([1, 2, 3].map((target) => [target, 0]));
    for (let minutes = 0; minutes < 50; minutes++) {
      for (const target of going.keys()) {
        going.set(target, 0);
        const room = new BacklogRoom(
          60_000,
          [...going].map(([each, jobs]) => ({ ...slow(each), jobs })),
        );
        going.set(target, room.of(slow(target)));
      }
    }
    expect([...going.values()]).toEqual([30_000, 30_000, 30_000]);
  });

  test("Each of a hundred targets may have a hundredth of the budget under way, and all together at most three times the budget", () => {
    const room = new BacklogRoom(60_000, []);
    const own = Array.from({ length: 1_000 }, (_, n) => {
      const jobs = room.of(slow(n));
      room.take(slow(n), jobs);
      return jobs;
    });
    expect(Math.min(...own.slice(0, 100))).toBe(600);
    expect(own.reduce((sum, jobs) => sum + jobs, 0)).toBe(180_000);
  });

  test("The backlog of one queue class takes nothing from the budget of the other", () => {
    const room = new BacklogRoom(60_000, [{ queue: "fast", target: null, team: null, jobs: 60_000 }]);
    expect(room.of(slow(1))).toBe(60_000);
    expect(room.of({ queue: "fast", target: null, team: null })).toBe(0);
  });
});

test("An explanation of an occurrence in the backlog says that its target has used up its share", async () => {
  await world.put("all", { when: "* * * * *", target: dead, catchUp: { policy: "all", limit: 40 } });
  await world.clock.setNow(at("11:00:00"));
  await world.tick({ backlogBudget: 3, backlogPerTurn: 3 });
  const told = () => explain(world.sql, { key: "all", at: at("10:55:00") });
  expect(await told()).toMatchObject({ outcome: "backlog" });
  expect((await told()).reason).toBeUndefined();
  await world.sql`
    insert into carillon.parcels (shard, queue, ready_at, offer_at, target_id, owed, occurrences, schedule_ids)
    select s.shard, s.queue, carillon.clock(), carillon.clock(), s.target_id, true, array_fill(carillon.clock(), array[60000]), array_fill(s.id, array[60000])
    from carillon.schedules s`;
  expect(await told()).toMatchObject({
    outcome: "backlog",
    reason: "target",
    sentence: expect.stringContaining("jobs for handler/dead are not done"),
  });
});
