import { type Lateness, latenessOf } from "./load/lateness-buckets.ts";
import { type CheckedLedger, checkLedger } from "./load/ledger.ts";
import type { LoadReport } from "./load/load-orders.ts";
import type { LoadedStack } from "./load/loaded-stack.ts";
import { sample } from "./load/sample.ts";
import { startLoad } from "./load/start-load.ts";
import { orderFor, putAll, queueName, settled, sliceMs, stackOnce } from "./load/steady-load.ts";
import { type Figures, machine, number, type Options, type Say } from "./report.ts";
import { distribution } from "./svg/distribution.ts";
import { writePicture } from "./svg/write-picture.ts";

export const does =
  "how late jobs start at a steady rate, through the whole local stack as npm start runs it";

export const options = { rate: "1000", soon: "50", minutes: "2", handlers: "10" };

const promisedMs = 1_000;

/**
 * Measures how late jobs start. `rate` jobs are due each second, evenly: `handlers` percent of them
 * go to a handler, the others to a queue that a receiver empties. `soon` more jobs a second are
 * created over HTTP, one to five seconds before they are due.
 */
export async function bench(options: Options, say: Say): Promise<LatenessFigures> {
  const rate = number(options, "rate");
  const soon = number(options, "soon");
  const share = number(options, "handlers");
  const ms = number(options, "minutes") * 60_000;
  if (share > 99) throw new Error("--handlers takes a percentage from 1 to 99.");
  say(machine());
  await using stack = await stackOnce(options["data-dir"]);
  const toHandler = Math.max(1, Math.round((rate * share) / 100));
  const groups = [
    { prefix: "steady", perSecond: rate - toHandler, target: { queue: queueName } },
    { prefix: "steady-handler", perSecond: toHandler, target: { handler: "greet" } },
  ].filter(({ perSecond }) => perSecond > 0);
  const { from } = await putAll(stack, groups, say);
  const between = { from: new Date(from), to: new Date(from + ms) };
  const { report, cores } = await underLoad(
    stack,
    { from, to: from + ms, soon, standing: (rate - toHandler) * 60 },
    say,
  );
  await settled(stack, between.to);
  const kinds = await latenessOf(stack.sql, between);
  const ledger = await checkLedger(stack.sql, between);
  for (const kind of kinds) say(latenessText(kind));
  if (cores !== null) say(`cores busy: stack ${cores.stack}, Postgres ${cores.postgres}`);
  const faults = [...faultsOf(kinds, ledger), ...report.failures];
  for (const fault of faults) say(`✗ ${fault}`);
  for (const complaint of stack.complaints()) say(`the stack said: ${complaint}`);
  if (faults.length > 0) process.exitCode = 1;
  const { verbs } = report;
  return {
    rate,
    soon,
    share,
    kinds,
    ledger,
    verbs,
    cores,
    faults,
    complaints: stack.complaints(),
    machine: machine(),
  };
}

interface LatenessFigures extends Figures {
  rate: number;
  soon: number;
  kinds: Lateness[];
  ledger: CheckedLedger;
  verbs: LoadReport["verbs"];
  /** CPU use during the measurement; null where the system does not report it. */
  cores: { stack: number; postgres: number } | null;
  faults: string[];
}

async function underLoad(
  stack: LoadedStack,
  { from, to, soon, standing }: { from: number; to: number; soon: number; standing: number },
  say: Say,
): Promise<{ report: LoadReport; cores: LatenessFigures["cores"] }> {
  const rates = { soon, creates: 0, edits: 0, deletes: 0, reads: 0 };
  const order = orderFor(stack, {
    from,
    to,
    rates,
    standing: { prefix: "steady", count: standing },
    targets: [{ queue: queueName }, { handler: "greet" }],
  });
  await using load = startLoad(order);
  say(`measured from ${new Date(from).toISOString()} on; slices of ${sliceMs / 1_000} s`);
  await Promise.race([
    new Promise((resolve) => setTimeout(resolve, from - Date.now())),
    stack.ended,
    load.report,
  ]);
  const before = await sample(stack);
  await Promise.race([
    new Promise((resolve) => setTimeout(resolve, to - Date.now())),
    stack.ended,
    load.report,
  ]);
  const after = await sample(stack);
  return { report: await load.report, cores: coresBetween(before, after) };
}

type Used = Pick<Awaited<ReturnType<typeof sample>>, "at" | "stack" | "postgres">;

function coresBetween(before: Used, after: Used): LatenessFigures["cores"] {
  const seconds = (after.at - before.at) / 1_000;
  const of = (name: "stack" | "postgres") => {
    const [from, to] = [before[name], after[name]];
    return from === null || to === null
      ? null
      : Number(((to.cpuSeconds - from.cpuSeconds) / seconds).toFixed(2));
  };
  const [stack, postgres] = [of("stack"), of("postgres")];
  return stack === null || postgres === null ? null : { stack, postgres };
}

function latenessText({ schedules, target, jobs, p50Ms, p90Ms, p99Ms, p999Ms, maxMs }: Lateness): string {
  return `${nameOf({ schedules, target })}: ${jobs.toLocaleString("en")} jobs, late by p50 ${p50Ms}, p90 ${p90Ms}, p99 ${p99Ms}, p99.9 ${p999Ms}, max ${maxMs} ms`;
}

function nameOf({ schedules, target }: Pick<Lateness, "schedules" | "target">): string {
  return `${schedules === "soon" ? "put 1–5 s ahead" : "steady"}, to a ${target}`;
}

function faultsOf(kinds: readonly Lateness[], ledger: CheckedLedger): string[] {
  return [
    ...kinds.flatMap((kind) => (kind.p99Ms > promisedMs ? [`${nameOf(kind)}: p99 is ${kind.p99Ms} ms`] : [])),
    ...kinds.flatMap((kind) =>
      kind.minMs < 0 ? [`${nameOf(kind)}: one started ${-kind.minMs} ms early`] : [],
    ),
    ...(ledger.faults > 0 ? [`${ledger.faults} faults in the ledger: ${JSON.stringify(ledger.first)}`] : []),
  ];
}

export async function page({
  rate,
  soon,
  kinds,
  ledger,
  verbs,
  cores,
  faults,
}: LatenessFigures): Promise<string> {
  const picture = await writePicture(
    "lateness",
    distribution({
      title: `Lateness at ${rate.toLocaleString("en")} jobs a second through the local stack`,
      desc: `The distribution of jobs' lateness: ${kinds.map(latenessText).join("; ")}.`,
      xLabel: "startedAt − dueAt in milliseconds; values below one are drawn at one",
      series: kinds.map((kind) => ({
        label: `${nameOf(kind)} (p99 ${kind.p99Ms} ms)`,
        buckets: kind.buckets,
      })),
      bound: { value: promisedMs, label: "promised: p99 ≤ 1 s" },
    }),
  );
  const rows = kinds.map(
    ({ jobs, p50Ms, p90Ms, p99Ms, p999Ms, maxMs, ...kind }) =>
      `| ${nameOf(kind)} | ${jobs.toLocaleString("en")} | ${p50Ms} | ${p90Ms} | ${p99Ms} | ${p999Ms} | ${maxMs} |`,
  );
  const put = verbs["soon"];
  return `${rate.toLocaleString("en")} evenly due jobs a second, and ${soon} more that are created over HTTP one to five seconds before they are due; API, ticks, workers and the SQS emulator
in one process, Postgres beside it, and the load and the receiver in a third, all on this machine. Lateness is \`startedAt − dueAt\` from the ledger: a start is the commit of a claim.

| schedules | jobs | p50 ms | p90 ms | p99 ms | p99.9 ms | max ms |
|---|---|---|---|---|---|---|
${rows.join("\n")}

${picture}

${kinds.some(({ minMs }) => minMs < 0) ? "**Some started early.**" : "None started early."} ${ledger.owed.toLocaleString("en")} occurrences were expected; ${ledger.faults === 0 ? "each has exactly one job" : `${ledger.faults} have faults`}. A put took p50 ${put?.p50Ms ?? "–"} ms and p99 ${put?.p99Ms ?? "–"} ms.
${cores === null ? "" : `The stack's process used ${cores.stack} cores, including the emulator, which is not deployed, and Postgres ${cores.postgres}.`}${faults.length === 0 ? "" : `\n\nNot as promised: ${faults.join("; ")}.`}`;
}
