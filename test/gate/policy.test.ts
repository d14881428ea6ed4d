import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

/** A construct that must not decide a test; `docs/testing-policy.md` says why. */
interface Forbidden {
  what: string;
  pattern: RegExp;
  /** Files that may use it, each with its reason. */
  allowed: Readonly<Record<string, string>>;
}

const measures = "it prints durations, and no test reads them";
const waitsForCondition = "it pauses between two checks of a condition";
const faultMoments = "its pauses come from the seed and spread faults over a race that ends after a volume";

const forbidden: Forbidden[] = [
  {
    what: "elapsed time",
    pattern: /performance\.now\(|process\.hrtime/,
    allowed: { "test/infra/synth-all.ts": measures },
  },
  {
    what: "the machine's clock",
    pattern: /Date\.now\(\)/,
    allowed: {
      "test/support/until.ts": "its limit ends a test that hangs",
      "test/race/fast-clock.ts": "it is the clock that a race speeds up",
      "test/race/race.ts": "its limit ends a race without progress",
      "test/race/move-race.ts": "its limit ends the wait of a driver for jobs that run",
      "test/support/packed-packages.ts": "it deletes packages that earlier runs left behind",
      "test/cli/own-cli.ts": "another process gets the offset of the test's clock",
      "test/mcp/own-agent.ts": "another process gets the offset of the test's clock",
      "test/ingest/watches.test.ts": "a local stack in a process of its own has no other clock",
      "test/infra/schedule.test.ts": "a synthesis reads times from the machine's clock, as a user's does",
      "test/functions/migrate.test.ts": "the handler in a process of its own has no other clock",
    },
  },
  {
    what: "chance without a seed",
    pattern: /Math\.random\(|order by random\(\)/,
    allowed: { "test/race/run.ts": "it draws the seed of a run outside the gate, and prints it" },
  },
  {
    what: "a sleep",
    pattern: /[^.]\bsetTimeout\(|timers\/promises|pg_sleep/,
    allowed: {
      "test/support/until.ts": waitsForCondition,
      "test/race/until-settled.ts": waitsForCondition,
      "test/race/stage.ts": waitsForCondition,
      "test/local/local-stack.ts": waitsForCondition,
      "test/race/race.ts": waitsForCondition,
      "test/race/actors.ts": faultMoments,
      "test/race/lane-race.ts": faultMoments,
      "test/race/move-race.ts": faultMoments,
      "test/race/group-race.ts": faultMoments,
      "test/job-control/backlog-race.test.ts": faultMoments,
      "test/local/handlers/running-handlers.test.ts":
        "its process lets the event loop turn, so that a thread learns of the debugger",
      "test/mutants/run.ts": "its limit ends a mutant that hangs; the gate runs no mutants",
      "test/gate/gate.test.ts": "the tests that it writes cause an error after their end",
      "test/db/long-migrations.test.ts": "its statement is still running when its connection is killed",
      "test/db/killed-connection.test.ts": "its statement is still running when its connection is killed",
      "test/db/request-time.test.ts": "its statements are still running when the time of their request ends",
      "test/functions/blocked-process.test.ts":
        "its process lets the event loop run beside a watch that counts its checks",
      "test/target/handler-session.test.ts": "its statement is still running when its handler ends",
      "test/db/pool.test.ts":
        "its statement is still running while others are queued, and their order is checked",
    },
  },
];

/**
 * Programs that developers start, and mutants, which quote the code; their measurements decide no
 * test. Their own tests are checked.
 */
const programs = [
  "test/abuse/",
  "test/bench/",
  "test/support/mess/",
  "test/smoke/",
  "test/emulate/",
  "test/move/drill.ts",
  "test/contract/",
  "test/mutants/rows/",
];

const root = path.resolve(import.meta.dirname, "..", "..");

const files = readdirSync(path.join(root, "test"), { recursive: true, encoding: "utf8" })
  .map((file) => `test/${file.replaceAll(path.sep, "/")}`)
  .filter((file) => file.endsWith(".ts") && file !== "test/gate/policy.test.ts")
  .filter((file) => file.endsWith(".test.ts") || !programs.some((folder) => file.startsWith(folder)));

test.each(forbidden)("a file under test/ uses $what only with a reason", ({ pattern, allowed }) => {
  const found = files.filter((file) => pattern.test(readFileSync(path.join(root, file), "utf8")));
  // A reason for a file that no longer needs it would also cover the next file of that name.
  expect(found.toSorted()).toEqual(Object.keys(allowed).toSorted());
});
