import { afterEach, beforeEach, expect, test } from "vitest";
import { type Explanation, explain } from "../../lib/explain/explain.ts";
import { diceOf, seeded } from "../race/seeded.ts";
import { type Carillon, carillon, type StoredJob } from "../support/carillon.ts";
import { at, hour, minute } from "../support/instants.ts";
import { live } from "./life.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

/** Statements of an explanation that contradict the stored rows. */
function contradictions(told: Explanation, jobs: ReadonlyMap<number, StoredJob>): string[] {
  const job = jobs.get(told.at.getTime());
  const into = told.collapsedInto === undefined ? undefined : jobs.get(told.collapsedInto.getTime());
  const isHeld = told.outcome === "held" || told.reason === "paused";
  const found: [boolean, string][] = [
    [told.outcome === "unrecorded", "nothing is recorded"],
    [told.outcome === "not-planned-yet", "not planned although the ticks have passed it"],
    [job !== undefined && !told.occurrence, "a job without an occurrence"],
    [(job?.state === "succeeded") !== (told.outcome === "ran"), "ran"],
    [job?.state === "skipped" && told.outcome !== "skipped", "skipped"],
    [
      told.collapsedInto !== undefined && (into === undefined || into.state === "skipped"),
      "collapsed into nothing",
    ],
    [isHeld && (told.heldBy ?? []).length === 0, "a hold without an owner"],
  ];
  return found.flatMap(([isSo, what]) => (isSo ? [what] : []));
}

test.each([1, 2, 3])(
  "Every instant of a random history has a consistent explanation (seed %i)",
  async (seed) => {
    await live(world, diceOf(seeded(seed)));
    const jobs = new Map((await world.jobs("k")).map((job) => [job.occurrence.getTime(), job]));
    const until = Math.min(world.clock.now().getTime(), at(6 * hour).getTime()) + 10 * minute;
    const instants = new Set(jobs.keys());
    for (let instant = at(-2 * minute).getTime(); instant < until; instant += minute) instants.add(instant);
    expect(jobs.size).toBeGreaterThan(5);
    const wrong: unknown[] = [];
    for (const instant of instants) {
      const told = await explain(world.sql, { key: "k", at: new Date(instant) });
      const found = contradictions(told, jobs);
      if (found.length > 0) wrong.push({ found, at: told.at, sentence: told.sentence });
    }
    expect(wrong).toEqual([]);
  },
);
