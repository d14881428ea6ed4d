import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { retryJobs } from "../../lib/job-control/retry-jobs.ts";
import { handOver } from "../../lib/parcel/hand-over.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { done, failed, thrown } from "../../lib/target/delivery.ts";
import { admitBacklog, backlogDefaults } from "../../lib/tick/housekeeping/admit-backlog.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, minute, second } from "../support/instants.ts";
import { due, dueOnce, ids, workerOf } from "./limit-world.ts";
import { inOneShard, teamOf } from "./team-world.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const caller = { name: "ann" };
const daily = { when: "every 1d", target: { queue: "demo" } };

const storedTeams = async () =>
  (await world.sql<{ team: number | null }[]>`select team_id as team from carillon.parcels order by id`).map(
    ({ team }) => team,
  );
const lastGroup = () => world.queue.requests.flat().at(-1)?.MessageGroupId;

/** A parcel with three jobs of the team and 21 jobs of none, all of one shard. */
async function mixedParcel(body: object): Promise<number> {
  await dueOnce(world, "team", 3, body);
  await dueOnce(world, "none", 21, body);
  const team = await teamOf(world, "team");
  await inOneShard(world);
  await world.sql`update carillon.schedules set queue = 'fast', target_id = null`;
  await world.tick();
  expect(await storedTeams()).toEqual([null]);
  await world.clock.setNow(due);
  world.queue.requests.length = 0;
  return team;
}

const isOfTeam = (key: string) => key.startsWith("team-");

describe("a parcel names its team, and its message the group of the team", () => {
  test("a job that is fired by hand travels in its team's group", async () => {
    await world.put("team-1", daily);
    const team = await teamOf(world, "team");
    await fireNow({ ...world, sql: world.as.api }, { key: "team-1", caller });
    expect(await storedTeams()).toEqual([team]);
    expect(lastGroup()).toBe(`team-${team}`);
  });

  test("jobs whose hold ends travel in their team's group", async () => {
    await world.put("team-1", { ...daily, when: "every 10s" });
    const team = await teamOf(world, "team");
    await world.pause("team-1");
    await world.clock.setNow(at(minute));
    await world.resume("team-1");
    await world.tick();
    expect(new Set(await storedTeams())).toEqual(new Set([team]));
    expect(lastGroup()).toBe(`team-${team}`);
  });

  test("jobs of the backlog travel in their team's group", async () => {
    const { schedule } = await world.put("team-1", daily);
    const team = await teamOf(world, "team");
    const dates = world.sql.array([at(-day), at(-day + second)]);
    await world.sql`
      insert into carillon.backlog (schedule_id, shard, kind, version, occurrences, dues, turn_at, noted_at)
      select id, shard, 'cadence', version, ${dates}::timestamptz[], ${dates}::timestamptz[], carillon.clock(), carillon.clock()
      from carillon.schedules where id = ${schedule.id}`;
    await handOver(
      world.sql,
      world.queue,
      await admitBacklog({ sql: world.as.tick, log: world.log }, backlogDefaults),
    );
    expect(await storedTeams()).toEqual([team]);
    expect(lastGroup()).toBe(`team-${team}`);
  });

  test("jobs of one team that are tried again leave a parcel of several teams for the team's group", async () => {
    const team = await mixedParcel({ retry: { attempts: 2, base: "5s" } });
    world.outcome = ({ key }) => (isOfTeam(key) ? thrown(new Error("It is down.")) : done);
    await world.work();
    expect(await storedTeams()).toEqual([team]);
    expect(lastGroup()).toBe(`team-${team}`);
  });

  test("jobs of several teams that are tried again have no group", async () => {
    await mixedParcel({ retry: { attempts: 2, base: "5s" } });
    world.outcome = () => thrown(new Error("It is down."));
    await world.work();
    expect(new Set(await storedTeams())).toEqual(new Set([null]));
    expect(lastGroup()).toBeUndefined();
  });

  test("a recheck travels in its team's group", async () => {
    const team = await mixedParcel({});
    world.outcome = ({ key }) => (isOfTeam(key) ? { kind: "again", at: at(2 * minute) } : done);
    await world.work();
    expect(await storedTeams()).toEqual([team, team, team]);
    expect(lastGroup()).toBe(`team-${team}`);
  });

  test("dead jobs that are retried travel in their team's group", async () => {
    const team = await mixedParcel({ retry: { attempts: 1 } });
    world.outcome = ({ key }) => (isOfTeam(key) ? failed("no") : done);
    await world.work();
    const keys = await world.sql<{ occurrence: Date; scheduleId: string; kind: "cadence"; n: number }[]>`
      select occurrence, schedule_id as "scheduleId", kind, n from carillon.dead_jobs order by schedule_id`;
    await retryJobs(
      { sql: world.as.api, queue: world.queue },
      keys.map((key) => ({ key, afterMs: 0 })),
      { caller, detail: {} },
    );
    expect(await storedTeams()).toEqual([team]);
    expect(lastGroup()).toBe(`team-${team}`);
  });

  test("a job that waits in a lane leaves a parcel of several teams, and its message comes in its team's group", async () => {
    const every = { when: "every 10s", overlap: "queue", target: { queue: "demo" } };
    for (const key of ["team-1", "none-1", "none-2", "none-3"]) await world.put(key, every);
    const team = await teamOf(world, "team");
    await inOneShard(world);
    await world.tick();
    const [first, next] = await ids(world);
    const worker = workerOf(world);
    await world.clock.setNow(at(20 * second));
    const claimed = await worker.claimed(first ?? "");
    expect(await worker.claim(next ?? "")).toMatchObject({ outcome: "empty" });
    const parked = await world.sql<{ team: number | null }[]>`
      select p.team_id as team from carillon.parcels p where p.lane is not null order by p.team_id`;
    expect(parked.map((each) => each.team)).toEqual([team, null, null, null]);
    world.queue.requests.length = 0;
    await handOver(
      world.sql,
      world.queue,
      (
        await settleParcel(
          world.sql,
          claimed,
          claimed.jobs.map(() => ({ kind: "succeeded" as const })),
        )
      ).outgoing,
    );
    expect(
      world.queue.requests
        .flat()
        .map(({ MessageGroupId = "none" }) => MessageGroupId)
        .sort(),
    ).toEqual(["none", "none", "none", `team-${team}`]);
  });
});
