import { benchStack, measuredOn } from "./bench-stack.ts";
import { emulatorCeiling } from "./drain-ceiling.ts";
import { drainPage, summaries } from "./drain-page.ts";
import { drainCases, drainRuns } from "./drain-runs.ts";
import { type Figures, machine, number, type Options, type Say } from "./report.ts";

export const does =
  "parcels → claimed, delivered, settled: to nothing, to a handler, to a queue; with SQS and without";

export const options = { jobs: "100000", fast: "4", slow: "10", runs: "3", only: "" };

/** `only`: cases such as `handler/direct`, separated by semicolons. */
export async function bench(options: Options, say: Say): Promise<Figures> {
  const workers = { fast: number(options, "fast"), slow: number(options, "slow") };
  const only = (options["only"] ?? "").split(";").filter((name) => name !== "");
  const cases = drainCases.filter(
    ({ drained, carrier }) => only.length === 0 || only.includes(`${drained}/${carrier}`),
  );
  if (cases.length === 0) throw new Error(`--only has no known case: ${options["only"]}`);
  say(machine());
  await using stack = await benchStack(options["data-dir"], Math.max(3, workers.fast, workers.slow) + 1);
  const jobs = number(options, "jobs");
  const runs = await drainRuns(stack, { jobs, runs: number(options, "runs"), workers, cases }, say);
  const ceiling = await emulatorCeiling(stack, jobs);
  say(`the emulator alone takes ${ceiling.toLocaleString("en")} messages/s`);
  const [first] = summaries(runs);
  return {
    perSecond: first?.perSecond,
    runs,
    ceiling,
    workers,
    ...measuredOn(stack),
  };
}

export const page = drainPage;
