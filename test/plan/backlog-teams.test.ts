import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { setLimits } from "../../lib/limit/limits.ts";
import { handOver } from "../../lib/parcel/hand-over.ts";
import { BacklogRoom, fullLineOf } from "../../lib/plan/backlog-room.ts";
import { readProblems } from "../../lib/problems/read-problems.ts";
import { failed } from "../../lib/target/delivery.ts";
import { admitBacklog } from "../../lib/tick/housekeeping/admit-backlog.ts";
import { teamOf } from "../parcel/team-world.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute } from "../support/instants.ts";
import { touched } from "../support/touched.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const budget = 200;
const event = { target: { queue: "demo" } };
const retry = { attempts: 100, backoff: "fixed", base: "100h", max: "100h" };

/** Missed occurrences of a schedule, in one row of the backlog or in several. */
async function owing(key: string, body: object, jobs: number, rows = 1): Promise<void> {
  await world.put(key, { ...event, when: "every 1s", startsAt: at(30 * day).toISOString(), retry, ...body });
  await world.sql`
    insert into carillon.backlog (schedule_id, shard, kind, version, occurrences, dues, turn_at, noted_at)
    select s.id, s.shard, 'cadence', s.version, array_agg(o order by o), array_agg(o order by o), carillon.clock() - interval '1 hour', carillon.clock()
    from carillon.schedules s cross join generate_series(1, ${jobs}) n cross join lateral (select ${at(-hour)}::timestamptz + n * interval '1 second' as o) i
    where s.key = ${key} group by s.id, n % ${rows}`;
}

async function admit(sql = world.sql): Promise<void> {
  const deps = { sql, log: world.log };
  await handOver(world.sql, world.queue, await admitBacklog(deps, { budget, perTurn: 100 }));
}

const letIn = async (key: string) => (await world.jobs(key)).length;

/** A serial group whose first job waits a hundred hours for its next attempt. */
async function stuckLane(): Promise<{ group: string; serial: true }> {
  const lane = { group: "lane", serial: true } as const;
  await world.put("evil-front", { ...event, ...lane, when: "in 1s", retry });
  world.outcome = ({ key }) => (key === "evil-front" ? failed("not yet") : { kind: "done" });
  await world.tick();
  await world.clock.advance(minute);
  await world.work();
  return lane;
}

/** Fills the share with jobs that wait in the lane. */
async function fillShare(): Promise<void> {
  const lane = await stuckLane();
  await owing("evil-1", lane, 1_000);
  await teamOf(world, "evil");
  await admit();
  await world.clock.advance(minute);
  await world.work();
}

describe("a team whose jobs wait in a stuck lane", () => {
  test("A team with a stuck lane leaves the missed runs of other teams, and of no team, their room", async () => {
    await fillShare();
    await owing("good-1", {}, 60);
    await teamOf(world, "good");
    await owing("alone", {}, 30);
    await admit();
    expect(await letIn("good-1")).toBe(60);
    expect(await letIn("alone")).toBe(30);
  });

  test("A team with a stuck lane gets no more jobs of the backlog than the budget", async () => {
    await fillShare();
    await owing("evil-2", {}, 10);
    await teamOf(world, "evil");
    for (let ticks = 0; ticks < 3; ticks++) {
      await admit();
      await world.clock.advance(minute);
      await world.work();
    }
    expect(await letIn("evil-1")).toBe(budget);
    expect(await letIn("evil-2")).toBe(0);
  });

  test("The rows of a team that has used up its share are skipped without reading them", async () => {
    await fillShare();
    await owing("evil-2", {}, 3_000, 3_000);
    await teamOf(world, "evil");
    await owing("good-1", {}, 60);
    await teamOf(world, "good");
    const sql = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
    const { index } = await touched(sql, () => admit(sql));
    await sql.end();
    const read = Object.entries(index).filter(([name]) => name.startsWith("backlog"));
    expect(Math.max(...read.map(([, entries]) => entries))).toBeLessThan(200);
    expect(await letIn("good-1")).toBe(60);
  });

  test("More rows of a team's held schedules than a tick reads leave the missed runs of others their turn", async () => {
    await owing("evil-held", {}, 11_000, 11_000);
    await teamOf(world, "evil");
    await owing("good-1", {}, 60);
    await teamOf(world, "good");
    await world.sql`
      update carillon.backlog b set turn_at = b.turn_at + interval '30 minutes' from carillon.schedules s where s.id = b.schedule_id and s.key = 'good-1'`;
    await world.sql`update carillon.schedules set held_since = carillon.clock() where key = 'evil-held'`;
    await admit();
    expect(await letIn("good-1")).toBe(60);
    expect(await letIn("evil-held")).toBe(0);
  });

  test("A team with a stuck lane at a queue with a limit leaves others room at the same queue", async () => {
    const limits = { concurrency: 1_000, rate: null };
    await setLimits(world, { target: "queue/demo", limits, caller: { name: "ann" } });
    await fillShare();
    await owing("good-1", {}, 60);
    await teamOf(world, "good");
    await admit();
    expect(await letIn("good-1")).toBe(60);
  });

  test("A schedule that gets a team leaves the full share of its former one", async () => {
    await fillShare();
    await owing("evil-2", {}, 10);
    await world.sql`update carillon.schedules set team_id = (select id from carillon.teams) where key = 'evil-2'`;
    await admit();
    expect(await letIn("evil-2")).toBe(0);
    await world.sql`update carillon.schedules set team_id = null where key = 'evil-2'`;
    await admit();
    expect(await letIn("evil-2")).toBe(10);
  });

  test("A row that names another team than its schedule's is served, and corrected", async () => {
    await owing("good-1", {}, 300);
    const good = await teamOf(world, "good");
    await world.sql`update carillon.backlog set team_id = 0`;
    await admit();
    expect(await letIn("good-1")).toBe(budget);
    expect(await world.sql`select team_id from carillon.backlog`).toEqual([{ team_id: good }]);
  });
});

describe("what is said of a team that has used up its share", () => {
  /** Jobs of `evil-1` that have run `since`, as many as the default budget. */
  async function underWay(since: Date): Promise<void> {
    await world.sql`
      insert into carillon.parcels (shard, queue, ready_at, claimed_at, lease_until, offer_at, team_id, owed, occurrences, schedule_ids)
      select s.shard, s.queue, ${since}, ${since}, ${at(hour)}, ${at(hour)}, s.team_id, true, array_fill(carillon.clock(), array[60000]), array_fill(s.id, array[60000])
      from carillon.schedules s where s.key = 'evil-1'`;
  }

  async function fullLine(key: string) {
    const [row] = await world.sql<{ id: string }[]>`select id from carillon.schedules where key = ${key}`;
    return fullLineOf(world.sql, row?.id ?? "0");
  }

  test("The problems and the explanation say that missed runs of the team wait for jobs that do not end", async () => {
    await world.tick();
    await owing("evil-1", {}, 800);
    await teamOf(world, "evil");
    await underWay(at(-hour));
    await owing("good-1", {}, 60);
    await teamOf(world, "good");
    const { verdict, problems } = await readProblems(world.sql, "evil-");
    const found = problems.filter(({ kind }) => kind === "backlog-full");
    expect(verdict).toBe("late");
    expect(found).toMatchObject([
      { count: { count: 800, more: false }, sample: "evil-1", see: { query: { outcome: "backlog" } } },
    ]);
    expect(found[0]?.text).toMatch(
      /^800 missed occurrences wait .* jobs at queues and buses without a limit that do not end use up their share/,
    );
    const ofOthers = await readProblems(world.sql, "good-");
    expect(ofOthers.problems.map(({ kind }) => kind)).not.toContain("backlog-full");
    expect(await fullLine("evil-1")).toEqual({ target: null, hasTeam: true, underWay: 60_000 });
    expect(await fullLine("good-1")).toBeNull();
  });

  test("Missed runs that follow as jobs end are no problem", async () => {
    await owing("evil-1", {}, 800);
    await underWay(at(0));
    const { problems } = await readProblems(world.sql, null);
    expect(problems.map(({ kind }) => kind)).not.toContain("backlog-full");
  });
});

describe("the room of teams", () => {
  const line = (team: number | null, target: number | null = null) => ({
    queue: "fast" as const,
    target,
    team,
  });

  test("A team alone uses the whole share", () => {
    expect(new BacklogRoom(60_000, []).of(line(1))).toBe(60_000);
  });

  test("A team that fills its share leaves the next one half of the budget", () => {
    expect(new BacklogRoom(60_000, [{ ...line(1), jobs: 60_000 }]).of(line(2))).toBe(30_000);
  });

  test("A team that is stuck at a thousand targets leaves the next one half of the budget", () => {
    const room = new BacklogRoom(60_000, []);
    for (let target = 1; target <= 1_000; target++) room.take(line(1, target), room.of(line(1, target)));
    expect(room.of(line(1, 1_001))).toBe(0);
    expect(room.of(line(2))).toBe(30_000);
  });

  test("All teams together have at most four times the budget under way", () => {
    const room = new BacklogRoom(60_000, []);
    let jobs = 0;
    for (let team = 1; team <= 50; team++) {
      for (let target = 1; target <= 500; target++) {
        const more = room.of(line(team, target));
        room.take(line(team, target), more);
        jobs += more;
      }
    }
    expect(jobs).toBe(240_000);
  });

  test("Teams that all have further backlog get equal shares of the budget", () => {
    const going = new Map([1, 2, 3].map((team) => [team, 0]));
    for (let minutes = 0; minutes < 50; minutes++) {
      for (const team of going.keys()) {
        going.set(team, 0);
        const room = new BacklogRoom(
          60_000,
          [...going].map(([each, jobs]) => ({ ...line(each), jobs })),
        );
        going.set(team, room.of(line(team)));
      }
    }
    expect([...going.values()]).toEqual([30_000, 30_000, 30_000]);
  });
});
