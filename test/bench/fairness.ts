import { benchStack, measuredOn } from "./bench-stack.ts";
import { type FairnessCase, type FairnessRun, runCases } from "./fairness/run-cases.ts";
import { seedTeams } from "./fairness/seed-teams.ts";
import { type Figures, machine, median, number, type Options, type Say } from "./report.ts";

export const does =
  "a team with few jobs beside one with many due at one instant: how late, and at what cost";

export const options = {
  jobs: "100000",
  rate: "100",
  seconds: "10",
  target: "queue",
  runs: "1",
  fast: "4",
  slow: "10",
};

const cases: readonly FairnessCase[] = [
  { large: false, small: true, fair: true },
  { large: true, small: true, fair: false },
  { large: true, small: true, fair: true },
  { large: true, small: false, fair: false },
  { large: true, small: false, fair: true },
];

/**
 * The large team A has `jobs` due at one instant, and the small team B `rate` a second from that
 * instant on. Ticks, the emulator's protocol and workers are the real ones, and there are as many
 * invocations of workers as a deployment has by default.
 */
export async function bench(options: Options, say: Say): Promise<Figures> {
  const destination = options["target"];
  if (destination !== "queue" && destination !== "handler")
    throw new Error(`--target takes queue or handler, not "${destination}".`);
  const [jobs, rate, seconds] = [
    number(options, "jobs"),
    number(options, "rate"),
    number(options, "seconds"),
  ];
  const workers = number(options, destination === "handler" ? "slow" : "fast");
  say(machine());
  await using stack = await benchStack(options["data-dir"], workers + 1);
  await seedTeams(stack.sql, destination, { a: jobs, b: rate * seconds });
  const params = { destination, jobs, rate, seconds, workers } as const;
  const runs: FairnessRun[] = [];
  for (let round = 1; round <= number(options, "runs"); round++) {
    const done = await runCases(stack, params, cases);
    for (const run of done) say(line(run));
    runs.push(...done);
  }
  return { runs, cases: summaries(runs), jobs, rate, seconds, workers, destination, ...measuredOn(stack) };
}

function line(run: FairnessRun): string {
  const small = run.small ? `, B late by p50 ${run.p50Ms}, p99 ${run.p99Ms}, max ${run.maxMs} ms` : "";
  const total = run.total === null ? "" : `, ${run.total.toLocaleString("en")} jobs/s in all`;
  const overlaps = run.overlaps ? "; not done when the next case began: choose fewer --jobs" : "";
  return `${nameOf(run)}${small}${total}${overlaps}`;
}

function nameOf({ large, small, fair }: FairnessCase): string {
  const who = large && small ? "A and B" : large ? "A alone" : "B alone";
  return `${who}, ${fair ? "with" : "without"} fairness`;
}

/** Medians of the runs of each case. */
function summaries(runs: readonly FairnessRun[]): Figures[] {
  return [...Map.groupBy(runs, nameOf)].map(([name, own]) => ({
    name,
    ...Object.fromEntries(
      (["p50Ms", "p99Ms", "maxMs", "total"] as const).map((figure) => {
        const values = own.flatMap((run) => run[figure] ?? []);
        return [figure, values.length === 0 ? null : median(values)];
      }),
    ),
  }));
}
