import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { thrown } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { due, dueOnce } from "./limit-world.ts";
import { inOneShard, teamOf } from "./team-world.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

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

  test("the jobs of a team that are many travel apart, in the team's message group, and those of small teams travel together", async () => {
    await dueOnce(world, "large", 600, fast);
    await dueOnce(world, "some", 100, fast);
    await dueOnce(world, "few", 30, fast);
    const large = await teamOf(world, "large");
    const some = await teamOf(world, "some");
    await inOneShard(world);
    await world.tick();
    expect(await storedParcels()).toEqual([
      { team: large, jobs: 250 },
      { team: large, jobs: 250 },
      { team: large, jobs: 100 },
      { team: some, jobs: 100 },
      { team: null, jobs: 30 },
    ]);
    expect(groupsSent()).toEqual({ [`team-${large}`]: 3, [`team-${some}`]: 1, none: 1 });
  });

  test.each([
    { jobs: 3, others: 21, apart: false },
    { jobs: 4, others: 28, apart: true },
    { jobs: 4, others: 29, apart: false },
    { jobs: 249, others: 2_000, apart: false },
    { jobs: 250, others: 2_000, apart: true },
  ])("of $jobs fast jobs of a team beside $others without one: they travel apart is $apart", async (row) => {
    await dueOnce(world, "team", row.jobs, fast);
    await dueOnce(world, "none", row.others, fast);
    const team = await teamOf(world, "team");
    await inOneShard(world);
    await world.tick();
    const apart = (await storedParcels()).filter((parcel) => parcel.team !== null);
    expect(apart).toEqual(row.apart ? [{ team, jobs: row.jobs }] : []);
  });

  test("jobs of one team that no other jobs travel with are in its message group, however few", async () => {
    for (const later of [0, 1, 2])
      await dueOnce(world, `team-${later}`, 1, fast, at(minute + later * second));
    const team = await teamOf(world, "team");
    await world.tick();
    expect(groupsSent()).toEqual({ [`team-${team}`]: 3 });
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
