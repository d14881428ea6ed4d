import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { countBySchedule } from "../../lib/agenda/by-schedule.ts";
import { countAgenda } from "../../lib/agenda/counts.ts";
import { rulesMax } from "../../lib/agenda/rules.ts";
import { fewMax } from "../../lib/agenda/sources.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute, second } from "../support/instants.ts";
import { agendaPages } from "./pages.ts";

const window = [at(day), at(day + hour)] as const;
const within = { from: window[0].getTime(), to: window[1].getTime() };

let world: Carillon;

/** Schedules of intervals of a month and more, which do not run within the window, and are late by a spread. */
async function addSchedules(
  team: string,
  { number, intervals }: { number: number; intervals: number },
): Promise<void> {
  await world.sql`
    with wanted as (select n, 30 * 86400000::bigint + n % ${intervals}::int * 1000::bigint as every from generate_series(1, ${number}::int) n)
    insert into carillon.schedules (id, shard, queue, key, target_kind, created_at, created_by, updated_at, updated_by, team_id, rule, phase, lagged)
    select nextval('carillon.schedules_id_seq'), 0, 'slow', ${team} || 'more' || n, 'queue', carillon.clock(), 'a', carillon.clock(), 'a', t.id,
      -every, ${within.from - second}::bigint % every, true
    from wanted, carillon.teams t where t.prefix = ${team}`;
}

beforeAll(async () => {
  world = await carillon();
  await world.tick();
  for (const team of ["bank:", "shop:"]) await world.sql`select carillon.keep_team(${team})`;
  for (const key of ["bank:1", "shop:1"]) await world.put(key, { when: "every 20m" });
  await world.put("bank:held", { when: "every 30m" });
  await world.pause("bank:held");
  await addSchedules("bank:", { number: fewMax, intervals: 10 });
  await addSchedules("shop:", { number: rulesMax.intervals + 1, intervals: rulesMax.intervals + 1 });
  await world.clock.advance(2 * minute);
  await world.tick();
});

afterAll(() => world.stop());

describe("with more different intervals of another team than an agenda takes", () => {
  test("A team with many schedules reads its agenda", async () => {
    const rows = await agendaPages(world.sql, { prefix: "bank:" }, window, 2);
    expect(rows.map(({ key }) => key).toSorted()).toEqual([
      ...["bank:1", "bank:1", "bank:1"],
      ...["bank:held", "bank:held"],
    ]);
  });

  test("A team with many schedules reads its held runs and their numbers", async () => {
    const held = await agendaPages(world.sql, { prefix: "bank:" }, window, 2, "held");
    expect(held.map(({ key }) => key)).toEqual(["bank:held", "bank:held"]);
    const search = { window: within, filter: { prefix: "bank:" }, outcome: "held" } as const;
    expect(await countBySchedule(world.sql, search)).toMatchObject({ occurrences: 2, schedules: 1 });
  });

  test("A team with many schedules counts its occurrences", async () => {
    const counts = await countAgenda(world.sql, within, { prefix: "bank:" });
    expect(counts).toMatchObject({ cadences: 2, occurrences: 5, exact: true });
    expect(await countAgenda(world.sql, within, { prefix: "bank:m" })).toMatchObject({ occurrences: 0 });
  });

  test("The agenda of all schedules, and of the other team, asks for a narrower filter", async () => {
    const all = agendaPages(world.sql, {}, window, 2);
    await expect(all).rejects.toThrow(
      "There are more than 20000 different cadences or 20000 different intervals, which is the limit of an agenda. Name the prefix of a team, or a group, tag or target with fewer schedules.",
    );
    const shop = countAgenda(world.sql, within, { prefix: "shop:" });
    await expect(shop).rejects.toThrow("20000 different intervals under the prefix");
  });

  test("The agenda of all schedules takes as many intervals as its limit", async () => {
    // Those of 20 and 30 minutes count too.
    await world.sql`delete from carillon.schedules where key in ('shop:more11', 'shop:more12', 'shop:more13')`;
    const rows = await agendaPages(world.sql, {}, window, 100);
    expect(rows).toHaveLength(8);
  });
});
