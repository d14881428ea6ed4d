import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type DeadPlace, listDead } from "../../lib/history/dead-jobs.ts";
import { groupJobs } from "../../lib/history/error-groups.ts";
import { countDead, lookedMax } from "../../lib/history/looked-dead.ts";
import { readProblems } from "../../lib/problems/read-problems.ts";
import { readPrefixStats } from "../../lib/stats/prefix-stats.ts";
import { failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { hour, minute, second } from "../support/instants.ts";
import { touched } from "../support/touched.ts";

const once = { when: "in 1s", retry: { attempts: 1 } };
const flood = lookedMax + 1_000;
/** More schedules than are searched one by one. */
const schedules = 120;

let world: Carillon;

async function runAll(): Promise<void> {
  await world.tick();
  await world.clock.advance(second);
  await world.work();
}

/** Later than all others, far more dead jobs of one team than an answer looks at. */
async function addFlood(team: string): Promise<void> {
  await world.sql`
    insert into carillon.dead_jobs (occurrence, schedule_id, kind, n, died_at, reason, error_group, shard, team_id)
    select d.occurrence, d.schedule_id, 'manual', g, d.died_at + interval '1 hour' + g * interval '1 ms', d.reason, d.error_group, d.shard, d.team_id
    from (select d.* from carillon.dead_jobs d join carillon.schedules s on s.id = d.schedule_id where s.key = ${`${team}1`}) d
    cross join generate_series(1, ${flood}::int) g`;
}

beforeAll(async () => {
  world = await carillon();
  await world.tick();
  world.outcome = () => failed("no");
  // The first of bank's are older than its row of a team.
  for (let n = 0; n < 2; n++) await world.put(`bank:${n}`, once);
  await runAll();
  for (const team of ["bank:", "shop:"]) await world.sql`select carillon.keep_team(${team})`;
  for (let n = 2; n < schedules; n++) await world.put(`bank:${n}`, once);
  await world.put("shop:1", once);
  await runAll();
  await world.clock.advance(2 * minute);
  await world.tick();
  await addFlood("shop:");
  await world.clock.advance(hour);
});

afterAll(() => world.stop());

async function listed(prefix: string): Promise<number> {
  let found = 0;
  let after: DeadPlace | undefined;
  for (let page = 0; page < 3; page++) {
    const { items, next } = await listDead(world.sql, {
      filter: { prefix },
      order: "newest",
      limit: 50,
      after,
    });
    found += items.length;
    if (next === undefined) return found;
    after = next;
  }
  throw new Error("The list does not end.");
}

describe("with more dead jobs of another team than one answer looks at", () => {
  test("A team's count, groups, problems, stats and list have all of its dead jobs", async () => {
    const all = { count: schedules, more: false };
    expect(await countDead(world.sql, { prefix: "bank:" })).toEqual(all);
    const groups = await groupJobs(world.sql, {
      filter: { prefix: "bank:" },
      state: "dead",
      by: "target,error",
      limit: 10,
    });
    expect(groups).toMatchObject({
      items: [{ count: schedules }],
      looked: schedules,
      more: false,
      lookedFrom: null,
    });
    const { problems } = await readProblems(world.sql, "bank:");
    expect(problems.filter(({ kind }) => kind === "dead-jobs")).toMatchObject([{ count: all }]);
    expect((await readPrefixStats(world.sql, "bank:")).dead).toEqual(all);
    expect(await listed("bank:")).toBe(schedules);
  });

  test("A team's dead jobs of an error group that both teams have are counted", async () => {
    const [group] = await world.sql<{ id: string }[]>`
      select distinct error_group as id from carillon.dead_jobs`;
    const filter = { prefix: "bank:", errorGroup: [group?.id ?? ""] };
    expect(await countDead(world.sql, filter)).toEqual({ count: schedules, more: false });
  });

  test("A prefix that begins the name of a team finds its dead jobs, and those older than the team", async () => {
    const under = async (prefix: string) => (await countDead(world.sql, { prefix })).count;
    expect(await under("b")).toBe(schedules);
    expect(await under("bank")).toBe(schedules);
  });

  test("A team's own dead jobs are counted up to the bound, and the answer says that there are more", async () => {
    await world.sql`
      insert into carillon.schedules (id, shard, queue, key, target_kind, created_at, created_by, updated_at, updated_by, team_id)
      select 1000000 + n, 0, 'slow', 'shop:more' || n, 'queue', carillon.clock(), 'a', carillon.clock(), 'a',
        (select id from carillon.teams where prefix = 'shop:') from generate_series(1, ${schedules}::int) n`;
    expect(await countDead(world.sql, { prefix: "shop:" })).toEqual({ count: lookedMax, more: true });
  });

  test.each([
    ["without statistics", ""],
    ["with statistics", "vacuum analyze carillon.dead_jobs"],
  ])("A team's count and page read none of the other team's dead jobs, %s", async (_, statement) => {
    await world.sql.unsafe(statement);
    const filter = { prefix: "bank:" };
    const seen = await touched(world.sql, async () => {
      await countDead(world.sql, filter);
      await listDead(world.sql, { filter, order: "newest", limit: 50 });
      await listDead(world.sql, { filter, order: "oldest", limit: 50 });
    });
    const dead = Object.entries({ ...seen.index, ...seen.scanned }).filter(([name]) =>
      name.startsWith("dead_jobs"),
    );
    expect(dead.reduce((sum, [, rows]) => sum + rows, 0)).toBeLessThan(20 * schedules);
  });
});
