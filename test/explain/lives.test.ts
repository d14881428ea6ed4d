import { afterEach, beforeEach, expect, test } from "vitest";
import { type Explanation, explain } from "../../lib/explain/explain.ts";
import { done, failed } from "../../lib/target/delivery.ts";
import { type Dice, diceOf, seeded } from "../race/seeded.ts";
import { type Carillon, carillon, type StoredJob } from "../support/carillon.ts";
import { at, hour, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

const whens = ["*/5 * * * *", "*/3 * * * *", "every 4m", "* * * * *", ["*/7 * * * *", "*/10 * * * *"]];
const catchUps = [
  { policy: "latest" },
  { policy: "latest", within: "20m" },
  { policy: "all", limit: 5 },
  { policy: "all", limit: 30 },
  { policy: "skip" },
];

const steps = 60;

/**
 * Ticks and workers that stop and return, pauses by two owners, and edits that change the times.
 */
async function live({ pick, chance }: Dice): Promise<void> {
  world.outcome = () => (chance(0.1) ? failed("no luck") : done);
  await world.put("k", {
    when: pick(whens),
    catchUp: pick(catchUps),
    spread: pick(["0s", "3m"]),
    overlap: pick(["allow", "skip", "queue"]),
    retry: { attempts: 2, base: "10s" },
  });
  const owner = () => pick(["ann", "bob"]);
  const soon = () => new Date(world.clock.now().getTime() + pick([3, 11, 40]) * minute);
  const acts: (() => Promise<unknown>)[] = [
    () => world.tick().then(() => world.work()),
    () => world.tick().then(() => world.work()),
    () => world.tick().then(() => world.work()),
    () => world.tick(),
    () => world.work(),
    () => world.pause("k", { owner: owner(), reason: "quiet" }),
    () => world.pause("k", { owner: owner(), until: soon() }),
    () => world.resume("k", "ann"),
    () => world.resume("k", "bob"),
    () => world.resume("k", owner()),
    () => world.patch("k", { when: pick(whens) }, "carl"),
    () => world.patch("k", { catchUp: pick(catchUps) }, "dora"),
    () => world.patch("k", { spread: pick(["0s", "1m", "4m"]) }, "dora"),
    () => world.clock.advance(pick([5, 20, 70]) * minute),
  ];
  for (let step = 0; step < steps; step++) {
    await world.clock.advance(pick([0, 20 * second, minute, minute, 2 * minute + 7 * second]));
    await pick(acts)();
  }
  await world.tick();
  await world.work();
}

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
    await live(diceOf(seeded(seed)));
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
