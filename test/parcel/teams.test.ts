import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Clock } from "../../lib/clock.ts";
import type { ClaimedJob } from "../../lib/parcel/claimed-job.ts";
import { parcelOfMessage } from "../../lib/parcel/parcel-queue.ts";
import { type Deliver, type Delivery, done, thrown } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { runWorkers } from "../support/workers.ts";
import { due, dueOnce } from "./limit-world.ts";

let world: Carillon;
let deliveries: { family: string; lateMs: number }[];

beforeEach(async () => {
  world = await carillon();
  deliveries = [];
});

afterEach(() => world.stop());

/** Gives the schedules of this name to a team, and returns the team's id. */
async function teamOf({ sql }: Carillon, name: string, weight = 1): Promise<number> {
  await sql`select carillon.keep_team(${`${name}-`})`;
  const [team] = await sql<{ id: number }[]>`
    update carillon.teams set weight = ${weight} where prefix = ${`${name}-`} returning id`;
  if (team === undefined) throw new Error("The team has no row.");
  await sql`update carillon.schedules set team_id = ${team.id} where starts_with(key, ${`${name}-`})`;
  return team.id;
}

async function inOneShard({ sql }: Carillon): Promise<void> {
  await sql`update carillon.schedules set shard = 0`;
  await sql`update carillon.plan set shard = 0`;
}

/** Jobs run side by side in the places of their parcel, each for the same time. */
function takes(ms: number, ends: (job: ClaimedJob) => Delivery = () => done) {
  return (clock: Clock): Deliver =>
    async (jobs, { places }) => {
      const outcomes = new Map<ClaimedJob, Delivery>();
      const waiting = jobs.values();
      const next = async () => {
        for (const job of waiting) {
          if (!(await places.take())) return;
          const family = job.key.slice(0, job.key.indexOf("-"));
          deliveries.push({ family, lateMs: clock.now().getTime() - job.dueAt.getTime() });
          await clock.sleep(ms);
          places.giveBack();
          outcomes.set(job, ends(job));
        }
      };
      await Promise.all(Array.from({ length: places.count }, next));
      return jobs.map((job) => outcomes.get(job) ?? { kind: "back" });
    };
}

const count = (family: string) => deliveries.filter((each) => each.family === family).length;
const worst = (family: string) =>
  Math.max(...deliveries.filter((each) => each.family === family).map(({ lateMs }) => lateMs));

/** The message groups of what was sent, with the number of parcels. */
function groupsSent(): Record<string, number> {
  const groups: Record<string, number> = {};
  for (const { MessageGroupId = "none" } of world.queue.requests.flat())
    groups[MessageGroupId] = (groups[MessageGroupId] ?? 0) + 1;
  return groups;
}

const storedParcels = () => world.sql<{ team: number | null; jobs: number }[]>`
  select team_id as team, cardinality(occurrences) as jobs from carillon.parcels order by team_id nulls last, jobs desc, id`;

describe("what travels together", () => {
  const fast = { target: { queue: "demo" } };

  test("the jobs of a team that fill a parcel travel apart, in the team's message group, and those of small teams travel together", async () => {
    await dueOnce(world, "large", 600, fast);
    await dueOnce(world, "some", 100, fast);
    await dueOnce(world, "few", 30, fast);
    const large = await teamOf(world, "large");
    await teamOf(world, "some");
    await inOneShard(world);
    await world.tick();
    expect(await storedParcels()).toEqual([
      { team: large, jobs: 250 },
      { team: large, jobs: 250 },
      { team: large, jobs: 100 },
      { team: null, jobs: 130 },
    ]);
    expect(groupsSent()).toEqual({ [`team-${large}`]: 3, none: 1 });
  });

  test("249 fast jobs of a team, and 250 without a team, have no message group", async () => {
    await dueOnce(world, "team", 249, fast);
    await dueOnce(world, "none", 250, fast);
    await teamOf(world, "team");
    await world.tick();
    expect(groupsSent()).toEqual({ none: 2 });
  });

  test("a team's jobs that are due at several instants do not make it large", async () => {
    for (const later of [0, 1, 2])
      await dueOnce(world, `team-${later}`, 100, fast, at(minute + later * second));
    await teamOf(world, "team");
    await world.tick();
    expect(groupsSent()).toEqual({ none: 3 });
  });

  test("a team of weight three has its messages in three groups", async () => {
    await dueOnce(world, "large", 1_500, fast);
    const large = await teamOf(world, "large", 3);
    await world.tick();
    expect(groupsSent()).toEqual({ [`team-${large}-0`]: 2, [`team-${large}-1`]: 2, [`team-${large}-2`]: 2 });
  });

  test("jobs of a large team that are tried again keep their team and its message group", async () => {
    await dueOnce(world, "large", 300, { ...fast, retry: { attempts: 2, base: "5s" } });
    const large = await teamOf(world, "large");
    await world.tick();
    await world.clock.setNow(due);
    world.queue.requests.length = 0;
    world.outcome = () => thrown(new Error("It is down."));
    await world.work();
    expect(await storedParcels()).toEqual([
      { team: large, jobs: 250 },
      { team: large, jobs: 50 },
    ]);
    expect(groupsSent()).toEqual({ [`team-${large}`]: 2 });
  });

  test("a tick sends an unclaimed parcel of a large team again in its message group", async () => {
    await dueOnce(world, "large", 250, fast);
    const large = await teamOf(world, "large");
    await world.tick();
    world.queue.requests.length = 0;
    await world.clock.setNow(at(2 * minute + second));
    await world.tick();
    expect(groupsSent()).toEqual({ [`team-${large}`]: 1 });
  });

  test("a parcel is sent without its message group if the groups cannot be read", async () => {
    await dueOnce(world, "large", 250, fast);
    await teamOf(world, "large");
    await world.tick();
    world.queue.requests.length = 0;
    await world.clock.setNow(at(2 * minute + second));
    await world.sql`alter function carillon.message_groups rename to no_message_groups`;
    await world.tick();
    expect(groupsSent()).toEqual({ none: 1 });
    expect(world.log.lines.filter(({ event }) => event === "parcel.ungrouped")).toHaveLength(1);
  });
});

describe("a large team beside others", () => {
  test("a team's thousands of fast jobs do not delay another team's jobs that are due a second later", async () => {
    await dueOnce(world, "large", 12_500, { target: { queue: "demo" } });
    await dueOnce(world, "few", 20, { target: { queue: "demo" } }, at(minute + second));
    await teamOf(world, "large");
    await teamOf(world, "few");
    await world.tick();
    await world.clock.setNow(due);
    await runWorkers(world, { fast: 1, stepMs: 100, deliver: takes(500) }, () => count("large") === 12_500);
    expect(count("few")).toBe(20);
    // Fifty parcels, ten at a time: thirty of them show that the group is noisy.
    expect(worst("few")).toBe(500);
    expect(worst("large")).toBe(2_500);
  });

  test("a team's thousands of jobs at a handler do not delay another team's jobs at the same handler", async () => {
    await dueOnce(world, "large", 2_000, { target: { handler: "shared" } });
    await dueOnce(world, "few", 20, { target: { handler: "shared" } }, at(minute + 2 * second));
    await teamOf(world, "large");
    await teamOf(world, "few");
    await world.tick();
    await world.clock.setNow(due);
    const workers = { slow: 10, window: 5, stepMs: 50, deliver: takes(100) };
    await runWorkers(world, workers, () => count("large") === 2_000);
    expect(count("few")).toBe(20);
    expect(worst("few")).toBeLessThanOrEqual(200);
    // Two hundred parcels on five workers, as without teams.
    expect(worst("large")).toBeLessThanOrEqual(40 * 100 + 500);
  });

  test("two large teams at one handler have as many workers at a time as their weights say, and one alone has all", async () => {
    await dueOnce(world, "heavy", 600, { target: { handler: "shared" } });
    await dueOnce(world, "light", 400, { target: { handler: "shared" } });
    await teamOf(world, "heavy", 3);
    await teamOf(world, "light");
    await world.tick();
    await world.clock.setNow(due);
    const workers = { slow: 8, window: 4, stepMs: 50, deliver: takes(100) };
    await runWorkers(world, workers, () => count("heavy") === 600);
    expect(count("light")).toBeGreaterThanOrEqual(160);
    expect(count("light")).toBeLessThanOrEqual(260);
    await runWorkers(world, workers, () => count("light") === 400);
    expect(worst("light")).toBeLessThanOrEqual(25 * 100 + 500);
  });

  test("a worker with a parcel of a large team takes along what waits for other teams first", async () => {
    await world.sql`select carillon.target_named('handler/shared')`;
    await world.sql`update carillon.targets set cost_ms = 1 where name = 'handler/shared'`;
    await dueOnce(world, "large", 2_000, { target: { handler: "shared" } });
    await dueOnce(world, "few", 20, { target: { handler: "shared" } }, at(minute + second));
    await world.sql`update carillon.schedules set shard = id % 16 where starts_with(key, 'large-')`;
    await world.sql`update carillon.plan p set shard = s.shard from carillon.schedules s where s.id = p.schedule_id`;
    await teamOf(world, "large");
    await teamOf(world, "few");
    await world.tick();
    await world.clock.setNow(due);
    const workers = { slow: 2, window: 1, stepMs: 50, deliver: takes(100) };
    await runWorkers(world, workers, () => count("large") === 2_000);
    expect(count("few")).toBe(20);
    expect(worst("few")).toBeLessThan(worst("large") / 2);
  });

  test("small parcels of other teams are not filled up with the jobs of a large team", async () => {
    await dueOnce(world, "large", 200, { target: { handler: "shared" } });
    await dueOnce(world, "few", 4, { target: { handler: "shared" } });
    await world.sql`update carillon.targets set cost_ms = 1 where name = 'handler/shared'`;
    const large = await teamOf(world, "large");
    await inOneShard(world);
    await world.tick();
    await world.clock.setNow(due);
    const mixed = await world.sql<{ id: string }[]>`select id from carillon.parcels where team_id is null`;
    const sizes: number[] = [];
    const deliver =
      (clock: Clock): Deliver =>
      async (jobs, context) => {
        if (jobs.some(({ key }) => key.startsWith("few-"))) sizes.push(jobs.length);
        return takes(100)(clock)(jobs, context);
      };
    await runWorkers(world, { slow: 4, window: 2, stepMs: 50, deliver }, () => count("few") === 4);
    expect(mixed).toHaveLength(1);
    expect(sizes).toEqual([4]);
    expect(groupsSent()[`team-${large}`]).toBeGreaterThan(0);
    expect(world.queue.requests.flat().map(({ MessageBody = "" }) => parcelOfMessage(MessageBody))).toContain(
      mixed[0]?.id,
    );
  });

  const turnsAt = (now: Date, most: number) => world.sql<{ team: number }[]>`
    select coalesce(p.team_id, 0) as team
    from carillon.due_turns((select id from carillon.targets where name = 'handler/shared'), ${now}, ${most}) with ordinality d (id, jobs, n)
    join carillon.parcels p on p.id = d.id order by d.n`;
  const allWait = () => world.sql`
    update carillon.parcels p set turn = 'waits', turn_at = l.due_at, waited_at = l.due_at, ready_at = 'infinity', offer_at = 'infinity'
    from (select j.parcel_id, min(j.due_at) as due_at from carillon.jobs j group by 1) l where l.parcel_id = p.id`;

  test.each([
    { later: 10 * minute - second, first: "the other jobs" },
    { later: 10 * minute + second, first: "those of the large team" },
  ])("jobs that are due $later ms after those of a large team at a handler: $first go first", async (row) => {
    await dueOnce(world, "large", 10, { target: { handler: "shared" } });
    const large = await teamOf(world, "large");
    await world.tick();
    await dueOnce(world, "few", 2, { target: { handler: "shared" } }, at(minute + row.later));
    await world.clock.setNow(at(minute + row.later));
    await world.tick();
    await allWait();
    const turns = await turnsAt(at(minute + row.later), 10);
    const first = row.first === "those of the large team" ? large : 0;
    expect(turns.map(({ team }) => team)[0]).toBe(first);
    expect(new Set(turns.map(({ team }) => team))).toEqual(new Set([0, large]));
  });

  test("of forty large teams at a handler a claim looks at thirty-two, and at others in each millisecond", async () => {
    await dueOnce(world, "many", 800, { target: { handler: "shared" } });
    await world.tick();
    await world.sql`select carillon.keep_team('team-' || n) from generate_series(1, 40) n`;
    await world.sql`
      update carillon.parcels p set team_id = t.id
      from carillon.teams t where t.id % 40 = p.id % 40`;
    await allWait();
    const seen = new Map<number, number>();
    for (let ms = 0; ms < 80; ms += 1) {
      const teams = new Set((await turnsAt(new Date(due.getTime() + ms), 1_000)).map(({ team }) => team));
      expect(teams.size).toBeLessThanOrEqual(32);
      for (const team of teams) seen.set(team, (seen.get(team) ?? 0) + 1);
    }
    expect(seen.size).toBe(40);
    expect(Math.min(...seen.values())).toBeGreaterThan(20);
  });
});
