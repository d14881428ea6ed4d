import { afterEach, beforeEach, expect, test } from "vitest";
import { explain } from "../../lib/explain/explain.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { live } from "../support/passing-time.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

const told = (key: string, instant: Date) => explain(world.sql, { key, at: instant });

/** An instant as the CLI and logs print it. */
const cut = (instant: Date) => new Date(Math.floor(instant.getTime() / second) * second);
const after = (instant: Date, ms: number) => new Date(instant.getTime() + ms);

test("An instant within a second of an occurrence means the occurrence, and `asked` has the instant", async () => {
  await world.clock.setNow(at("10:00:00.789"));
  await world.put("often", { when: "every 5m" });
  await live(world, at("10:07:00"));
  const run = at("10:05:00.789");
  const exact = { at: run, asked: null, outcome: "ran", occurrence: true, job: { occurrence: run } };
  expect(await told("often", run)).toMatchObject(exact);
  for (const asked of [cut(run), after(run, -999), after(run, 999)])
    expect(await told("often", asked)).toMatchObject({ ...exact, asked });
  for (const ms of [-second, second])
    expect(await told("often", after(run, ms))).toMatchObject({ outcome: "not-an-occurrence", asked: null });
});

test("Between two runs a second apart, a cut instant means the run that follows it", async () => {
  await world.clock.setNow(at("10:00:00.500"));
  await world.put("quick", { when: "every 1s" });
  const asked = at("10:20:00");
  expect(await told("quick", asked)).toMatchObject({ at: after(asked, 500), asked, occurrence: true });
});

test("An instant within a second of a due time means the occurrence that was due then", async () => {
  await world.put("spread", { when: "*/10 * * * *", spread: "5m" });
  const { dueAt } = await told("spread", at("10:10:00"));
  if (dueAt === null) throw new Error("It has no due time.");
  expect(dueAt.getTime() % second).not.toBe(0);
  for (const asked of [dueAt, cut(dueAt), after(dueAt, 500)])
    expect(await told("spread", asked)).toMatchObject({ at: at("10:10:00"), asked, dueAt });
});

test("A cut instant of a fired job means that job", async () => {
  await world.put("fired", { when: "0 9 * * *" });
  await world.clock.setNow(at("10:03:00.217"));
  await fireNow({ sql: world.sql, queue: world.queue }, { key: "fired", caller: { name: "ann" } });
  const run = at("10:03:00.217");
  expect(await told("fired", cut(run))).toMatchObject({ at: run, asked: cut(run), outcome: "fired" });
});

test("A cut instant of a single run that was enqueued for now means that run", async () => {
  await world.clock.setNow(at("10:03:00.900"));
  await world.put("once", { when: "in 1s" });
  const run = at("10:03:01.900");
  expect(await told("once", cut(run))).toMatchObject({ at: run, occurrence: true });
});

test("A cut instant of an occurrence that an edit has withdrawn means that occurrence", async () => {
  await world.clock.setNow(at("10:00:00.789"));
  await world.put("edited", { when: "every 1h" });
  await world.clock.advance(minute);
  await world.patch("edited", { when: "0 0 1 1 *" }, "first");
  const run = at("11:00:00.789");
  expect(await told("edited", cut(run))).toMatchObject({
    at: run,
    outcome: "withdrawn",
    edit: { version: 2, by: "first" },
    sentence: expect.stringContaining("edited by token `first` (version 2) at 2026-03-02T10:01:00.789Z"),
  });
});
