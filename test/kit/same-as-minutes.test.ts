import { expect, test } from "vitest";
import * as z from "zod";
import type { ScheduleBody } from "../../lib/client/main.ts";
import { again, defineJob, done } from "../../lib/job/main.ts";
import type { TestCarillon } from "../../lib/tools/testing/test-carillon.ts";
import { diceOf, seeded } from "../race/seeded.ts";
import { seedOfRun } from "../support/seed.ts";
import { kit } from "./kit.ts";

const recheck = defineJob({
  name: "recheck",
  payload: z.null(),
  maxChecks: 3,
  run: async ({ checks }) => (checks < 2 ? again("40m") : done),
});

type Dice = ReturnType<typeof diceOf>;

const bodyOf = (dice: Dice): ScheduleBody => {
  const when = dice.pick(["every 7m", "every 45m", "17 * * * *", "30 2 * * *", "*/20 1-4 * * *", "every 3h"]);
  const catchUp = dice.pick(["all", "latest", "skip"] as const);
  return {
    when,
    timezone: dice.pick(["UTC", "Europe/Berlin"]),
    target: dice.pick([
      { queue: "demo" },
      { handler: "recheck" },
      { webhook: { url: "https://example.com/in" } },
    ]),
    retry: { attempts: dice.between(1, 3), base: dice.pick(["20s", "10m", "90m"]), max: "2h" },
    catchUp: { policy: catchUp },
    ...(dice.pick([true, false]) ? { group: dice.pick(["a", "b"]) } : {}),
    ...(when.startsWith("every") && dice.pick([true, false]) ? { spread: "3m" } : {}),
  };
};

/** The same edits, faults and lengths of time, for each pace. */
async function course(carillon: TestCarillon, seed: number): Promise<void> {
  const dice = diceOf(seeded(seed));
  for (let n = 0; n < 8; n++) await carillon.put(`s${n}`, bodyOf(dice));
  for (let step = 0; step < 4; step++) {
    const key = `s${dice.between(0, 7)}`;
    const until = new Date(carillon.now().getTime() + dice.between(1, 150) * 61_000).toISOString();
    switch (dice.pick(["pause", "fail", "slow", "edit", "missing", "loses", "twice", "dies", "delete"])) {
      case "pause":
        await carillon.pause(key, { until });
        break;
      case "fail":
        carillon.failNext(key, { times: dice.between(1, 4) });
        break;
      case "slow":
        carillon.handlerTakes("95s", key);
        break;
      case "edit":
        await carillon.put(key, bodyOf(dice));
        break;
      case "missing":
        await carillon.ticksMissing("80m");
        break;
      case "loses":
        carillon.queueLoses(2);
        break;
      case "twice":
        carillon.queueDuplicates(2);
        break;
      case "dies":
        carillon.workerDies();
        break;
      case "delete":
        await carillon.delete(key);
        break;
    }
    await carillon.advance(`${dice.between(1, 60)}m${dice.between(1, 59)}s`);
  }
}

test.each([seedOfRun, seedOfRun + 1])(
  "Leaping over idle minutes gives the jobs, attempts and deliveries that the tick of every minute gives (%i)",
  async (seed) => {
    const seen = [];
    for (const pace of ["minutes", "leaps"] as const) {
      await using carillon = await kit({ now: "2027-03-27T20:00:00Z", handlers: [recheck], pace });
      await course(carillon, seed);
      const bySend = (a: { at: string; key: string }, b: { at: string; key: string }) =>
        `${a.at} ${a.key}`.localeCompare(`${b.at} ${b.key}`);
      seen.push({
        jobs: carillon.jobs(),
        runs: carillon.runs().toSorted(bySend),
        deliveries: carillon
          .deliveries()
          .map(({ at, key, to }) => ({ at, key, to }))
          .toSorted(bySend),
      });
    }
    const [minutes, leaps] = seen;
    expect(minutes?.jobs.length).toBeGreaterThan(5);
    expect(leaps).toEqual(minutes);
  },
);

const report = defineJob({ name: "report", payload: z.null(), run: async () => {} });

const faults: Readonly<Record<string, (carillon: TestCarillon) => void>> = {
  "a worker that dies": (carillon) => carillon.workerDies(),
  "a slow worker that dies": (carillon) => {
    carillon.handlerTakes("70s");
    carillon.workerDies();
  },
  "a restart of the database": (carillon) => carillon.databaseRestarts(),
  "an attempt that fails": (carillon) => carillon.failNext("one"),
};
const targets = [{ queue: "demo" }, { handler: "report" }] as const;

test.each(
  ["2027-06-01T10:10:00Z", "2027-06-01T10:10:05Z"].flatMap((at) =>
    Object.keys(faults).flatMap((fault) => targets.map((target) => ({ at, fault, target }))),
  ),
)(
  "Leaping gives the attempts of the tick of every minute to a job due at $at for $target after $fault",
  async ({ at, fault, target }) => {
    const seen = [];
    for (const pace of ["minutes", "leaps"] as const) {
      await using carillon = await kit({ now: "2027-06-01T10:00:00Z", handlers: [report], pace });
      await carillon.put("one", { when: `at ${at}`, target, timeout: "5m" });
      faults[fault]?.(carillon);
      await carillon.advance("1h");
      seen.push({ jobs: carillon.jobs(), runs: carillon.runs() });
    }
    const [minutes, leaps] = seen;
    expect(minutes?.jobs).toHaveLength(1);
    expect(leaps).toEqual(minutes);
  },
);
