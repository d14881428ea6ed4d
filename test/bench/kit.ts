import { testCarillon } from "../../lib/tools/testing/test-carillon.ts";
import { type Figures, machine, median, number, type Options, type Say } from "./report.ts";

export const does = "how fast time passes in the test kit";

export const options = { runs: "5" };

const now = "2027-01-01T00:00:00Z";

interface Passed {
  name: string;
  goalMs: number;
  ms: number;
  jobs: number;
}

export async function bench(options: Options, say: Say): Promise<Figures> {
  say(machine());
  const starts: number[] = [];
  // The first one starts the server that the others share.
  for (let run = 0; run <= number(options, "runs"); run++) {
    const from = performance.now();
    await using _carillon = await testCarillon({ now });
    starts.push(Math.round(performance.now() - from));
  }
  const [firstMs = 0, ...later] = starts;
  const databaseMs = median(later);
  say(`a Carillon with a database of its own: first ${firstMs} ms, then ${databaseMs} ms`);
  const passed = [
    await pass("a year of an hourly schedule", 10_000, "365d", ["0 * * * *"]),
    await pass("thirty days of a hundred daily schedules", 5_000, "30d", hundred("daily")),
    await pass("thirty days of a hundred daily schedules at nine", 5_000, "30d", hundred("nine")),
  ];
  for (const { name, ms, jobs, goalMs } of passed)
    say(`${name}: ${jobs} jobs in ${(ms / 1_000).toFixed(1)} s (goal ${goalMs / 1_000} s)`);
  return { firstMs, databaseMs, passed };
}

/** At a minute of their own each, or all at one instant. */
const hundred = (at: "daily" | "nine"): string[] =>
  Array.from({ length: 100 }, (_, n) => (at === "nine" ? "0 9 * * *" : `${n % 60} ${n % 24} * * *`));

async function pass(
  name: string,
  goalMs: number,
  duration: string,
  whens: readonly string[],
): Promise<Passed> {
  await using carillon = await testCarillon({ now });
  for (const [n, when] of whens.entries())
    await carillon.put(`bench:${n}`, { when, target: { queue: "bench" } });
  const from = performance.now();
  await carillon.advance(duration);
  return { name, goalMs, ms: Math.round(performance.now() - from), jobs: carillon.jobs().length };
}

export function page(figures: Figures): string {
  const passed = Array.isArray(figures["passed"]) ? figures["passed"] : [];
  const rows = passed.map(({ name, jobs, ms, goalMs }: Passed) => {
    const seconds = (ms / 1_000).toFixed(1);
    return `| ${name} | ${jobs.toLocaleString("en")} | ${seconds} s | ${goalMs / 1_000} s: ${ms <= goalMs ? "met" : "missed"} |`;
  });
  return `A Carillon with a database of its own is there in ${String(figures["databaseMs"])} ms (goal 300 ms), the first of a machine, which starts
the server, in ${String(figures["firstMs"])} ms.

| time that passes | jobs | takes | goal |
|---|--:|--:|---|
${rows.join("\n")}`;
}
