import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { comparedMax, ownersMax, parcelsMax } from "../../lib/history/jobs-in-parcels.ts";
import { groupsMax } from "../../lib/problems/failures.ts";
import { readProblems } from "../../lib/problems/read-problems.ts";
import { waitingMax } from "../../lib/problems/set-aside.ts";
import { failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { day, minute, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";

/** The rows of another team: more than an answer looks at, and newer than those of the caller. */
const flood = waitingMax + 10;

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
  await world.tick();
});

afterEach(() => world.stop());

const problems = (prefix: string | null) => readProblems(world.as.api, prefix);

describe("with more rows of another team than one answer looks at", () => {
  test("A team's refused commands of both inboxes are counted", async () => {
    await world.sql`
      insert into carillon.inbox_refusals (id, at, refused_at, caller, key, command, problem, faults)
      select n, carillon.clock(), carillon.clock(), 'shop', case when n = 1 then 'bank:' else 'shop:' end || n, '{}', 'no', '[]'
      from generate_series(1, ${flood}::int) n`;
    await world.sql`
      insert into carillon.dead_commands (message_id, place, key, refused_at, refusal)
      select n, 0, case when n = 1 then 'bank:' else 'shop:' end || n, carillon.clock(), '{}' from generate_series(1, ${flood}::int) n`;
    expect((await problems("bank:")).problems).toMatchObject([
      { kind: "dead-commands", count: { count: 1, more: false } },
      { kind: "inbox-errors", count: { count: 1, more: false }, sample: "1" },
    ]);
    expect((await problems("crm:")).problems).toEqual([]);
  });

  test("A team's old holds of schedules and of groups are counted", async () => {
    await world.sql`
      insert into carillon.schedules (id, shard, queue, key, target_kind, held_since, created_at, created_by, updated_at, updated_by)
      select 1000000 + n, 0, 'slow', 'shop:' || n, 'queue', carillon.clock(), carillon.clock(), 'a', carillon.clock(), 'a' from generate_series(1, ${flood}::int) n`;
    await world.sql`
      insert into carillon.holds (schedule_id, owner, since) select 1000000 + n, 'a', carillon.clock() from generate_series(1, ${flood}::int) n`;
    await world.sql`
      insert into carillon.shared_holds (scope, name, owner, since, author, prefix, reached)
      select 'group', 'g' || n, 'a', carillon.clock() - interval '3 days', 'a', 'shop:', null from generate_series(1, ${flood}::int) n`;
    await world.sql`
      insert into carillon.shared_holds (scope, name, owner, since, author, prefix, reached)
      values ('group', 'own', 'a', carillon.clock() - interval '2 days', 'a', 'bank:', null)`;
    await world.put("bank:1", { when: "0 9 * * *" });
    await world.pause("bank:1");
    await world.clock.advance(day + minute);
    await world.tick();
    const { problems: found } = await problems("bank:");
    expect(found.find(({ kind }) => kind === "old-holds")).toMatchObject({
      count: { count: 2, more: false },
      sample: "bank:1",
    });
  });

  test("The answer says that rows in quarantine behind those that were looked at may be the team's", async () => {
    await world.sql`
      insert into carillon.quarantine (consumer, item, reason, first_at, last_at, tries, next_at)
      select 'plan', n, 'no', carillon.clock(), carillon.clock(), 1, carillon.clock() + interval '1 day' from generate_series(1, ${flood}::int) n`;
    expect((await problems("bank:")).problems).toMatchObject([
      {
        kind: "quarantine",
        count: { count: 0, more: true },
        text: "None of the 5,000 rows in quarantine that were looked at is of this prefix; there may be more.",
      },
    ]);
  });
});

describe("with more late jobs of another team than one answer looks up", () => {
  const teams = ["bank:", "shop:"];

  /** Late jobs in 300 parcels, all of which have waited longer than the caller's. */
  async function delay(team: number | null, inEach = 100): Promise<void> {
    await world.put("shop:1", { when: "in 1d" });
    await world.put("bank:1", { when: "in 30s" });
    await world.clock.advance(3 * minute);
    await world.tick();
    await world.sql`
      insert into carillon.parcels (shard, queue, ready_at, offer_at, team_id, occurrences, schedule_ids)
      select 0, 'slow', carillon.clock() - interval '1 hour', carillon.clock(), ${team}, array_fill(date_trunc('day', carillon.clock()), array[${inEach}::int]),
        array_fill((select id from carillon.schedules where key = 'shop:1'), array[${inEach}::int])
      from generate_series(1, 300) n`;
  }

  const late = async () => {
    const { verdict, text, problems: found } = await problems("bank:");
    return {
      verdict,
      text,
      late: found
        .filter(({ kind }) => kind === "no-worker" || kind === "late-jobs")
        .map(({ kind, count }) => ({ kind, count })),
    };
  };

  beforeEach(async () => {
    for (const team of teams) await world.sql`select carillon.keep_team(${team})`;
  });

  test("A team's late jobs are counted, as parcels of the other team are not opened", async () => {
    const [shop] = await world.sql<{ id: number }[]>`select id from carillon.teams where prefix = 'shop:'`;
    await delay(shop?.id ?? 0);
    expect(await late()).toMatchObject({
      verdict: "stopped",
      late: [{ kind: "no-worker", count: { count: 1, more: false } }],
    });
  });

  test("A team's late jobs are counted where parcels may hold jobs of several teams", async () => {
    await delay(null);
    expect(await late()).toMatchObject({
      verdict: "stopped",
      late: [{ kind: "no-worker", count: { count: 1, more: false } }],
    });
  });

  const isUnseen = async (looked: string) => {
    const { verdict, text, late: found } = await late();
    expect({ verdict, found }).toEqual({
      verdict: "on-time",
      found: [{ kind: "late-jobs", count: { count: 0, more: true } }],
    });
    expect(text).toBe(
      `On time. Of the ${looked} late jobs of all prefixes that were looked at, in 100,000 open parcels, none is of this prefix; there are more, which were not looked at.`,
    );
  };

  test("The answer says that not all late jobs of parcels of several teams were compared", async () => {
    await delay(null, Math.ceil(comparedMax / 300));
    // No order says which of the jobs are compared.
    await world.sql`delete from carillon.parcels where cardinality(occurrences) = 1`;
    await isUnseen("500,000");
  });

  test("The answer says that not all late jobs were looked up for a team of many schedules", async () => {
    await world.sql`
      insert into carillon.schedules (id, shard, queue, key, target_kind, created_at, created_by, updated_at, updated_by)
      select 1000000 + n, 0, 'slow', 'bank:many:' || n, 'queue', carillon.clock(), 'a', carillon.clock(), 'a' from generate_series(1, ${ownersMax}::int) n`;
    await delay(null);
    await isUnseen("20,000");
  });

  test("Open parcels beyond those that are looked at are said", async () => {
    await world.sql`
      insert into carillon.parcels (shard, queue, ready_at, offer_at, occurrences, schedule_ids)
      select 0, 'slow', carillon.clock() + interval '1 day', carillon.clock() + interval '1 day', '{}', '{}' from generate_series(1, ${parcelsMax + 1}::int) n`;
    expect((await problems(null)).problems).toMatchObject([
      { kind: "late-jobs", count: { count: 0, more: true } },
    ]);
  });
});

describe("with more groups of dead jobs than one answer lists", () => {
  const once = { retry: { attempts: 1 } };

  /** Two dead jobs of each error of one team, and one dead job of another. */
  async function fail(errors: number): Promise<void> {
    for (const team of ["bank:", "shop:"]) await world.sql`select carillon.keep_team(${team})`;
    world.outcome = ({ key }) => failed(`cause ${"x".repeat(Number(key.split(":")[1]) + 1)}`);
    for (let n = 0; n < errors; n++)
      for (const key of [`shop:${n}`, `shop:${n}:b`]) await world.put(key, { when: "in 1s", ...once });
    await world.put("bank:99", { when: "in 1s", ...once });
    await world.tick();
    await world.clock.advance(second);
    await world.work();
  }

  const dead = async (prefix: string | null) =>
    (await problems(prefix)).problems.filter(({ kind }) => kind === "dead-jobs");

  test("A team with many groups of dead jobs hides no smaller one of another team from a caller of all keys", async () => {
    await fail(groupsMax);
    const listed = (await dead(null)).filter(({ see }) => see.path === "/v1/jobs");
    expect(listed.map(({ count }) => count.count)).toEqual([...Array(groupsMax - 1).fill(2), 1]);
    expect(await dead("bank:")).toHaveLength(1);
  });

  test("Groups of dead jobs beyond those that are listed are one problem, with their jobs and the request that lists them", async () => {
    await fail(groupsMax + 2);
    const found = await dead("shop:");
    expect(found).toHaveLength(groupsMax + 1);
    expect(found.find(({ see }) => see.path === "/v1/jobs:groups")).toEqual({
      kind: "dead-jobs",
      since: null,
      count: { count: 4, more: false },
      text: `4 jobs are dead in 2 other groups: only ${groupsMax} groups are listed here, each team's largest first.`,
      sample: null,
      see: { path: "/v1/jobs:groups", query: { state: "dead", prefix: "shop:" } },
      command: "carillon errors --state dead --prefix shop:",
    });
  });
});
