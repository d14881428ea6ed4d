import { afterAll, beforeAll, expect, test } from "vitest";
import { readLastRuns } from "../../lib/agenda/last-runs.ts";
import { explain } from "../../lib/explain/explain.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at } from "../support/instants.ts";
import { agendaPages, shown } from "./pages.ts";

let world: Carillon;

beforeAll(async () => {
  world = await carillon();
  await world.tick();
  await world.put("owed:a", { when: "* * * * *", catchUp: { policy: "all" } });
  await world.put("owed:b", { when: "*/2 * * * *", catchUp: { policy: "all" } });
  await world.clock.setNow(at("11:00:00"));
  await world.tick({ backlogBudget: 2, backlogPerTurn: 2 });
});

afterAll(() => world.stop());

const window = [at("10:00:00"), at("11:00:00")] as const;

const ranges = async (filter: object, within: readonly [Date, Date] = window) =>
  (await agendaPages(world.sql, filter, within, 7)).flatMap(({ key, outcome, passedOver }) =>
    passedOver === null
      ? []
      : [{ key, outcome, from: passedOver.from, to: passedOver.to, count: passedOver.count }],
  );

test("Occurrences in the backlog are listed as one range with the outcome `backlog`", async () => {
  const rows = await ranges({});
  expect(rows.map(({ key, outcome }) => `${key} ${outcome}`)).toEqual(["owed:b backlog", "owed:a backlog"]);
  const { sql } = world;
  const listed = await agendaPages(sql, { prefix: "owed:a" }, window, 7);
  const [owed] = await ranges({ prefix: "owed:a" });
  const jobs = listed.filter(({ passedOver }) => passedOver === null);
  expect(jobs.length + (owed?.count ?? 0)).toBe(59);
  for (const each of [owed?.from, owed?.to])
    expect((await explain(sql, { key: "owed:a", at: each ?? at(0) })).outcome).toBe("backlog");
});

test("A range of the backlog is listed only in windows in which it has an occurrence", async () => {
  expect(await ranges({ prefix: "owed:b" }, [at("10:41:30"), at("10:41:40")])).toEqual([]);
  expect(await ranges({ prefix: "owed:b" }, [at("10:42:00"), at("10:42:01")])).toHaveLength(1);
  expect(await ranges({}, [at("09:00:00"), at("10:01:00")])).toEqual([]);
});

test("The last runs of a schedule that are in the backlog have that outcome", async () => {
  const { items } = await readLastRuns(world.sql, { keys: ["owed:a"], most: 20 });
  const outcomes = items[0]?.runs.map(({ occurrence, outcome }) => [occurrence, outcome]) ?? [];
  for (const [occurrence, outcome] of outcomes)
    expect((await explain(world.sql, { key: "owed:a", at: occurrence as Date })).outcome).toBe(outcome);
  expect(outcomes.filter(([, outcome]) => outcome === "backlog").length).toBeGreaterThan(10);
});

test("Occurrences in the backlog stay in the agenda when the cadence changes or the schedule is held", async () => {
  const before = await ranges({ prefix: "owed:" });
  await world.patch("owed:a", { when: "*/7 * * * *" });
  await world.pause("owed:b");
  expect(await ranges({ prefix: "owed:" })).toEqual(before);
  const rows = await agendaPages(world.sql, { prefix: "owed:b" }, window, 100);
  expect(shown(rows).filter((row) => row.includes("backlog"))).toHaveLength(1);
});
