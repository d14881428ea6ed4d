import { type CheckedLedger, checkLedger, latenessBySlice } from "./load/ledger.ts";
import type { LoadReport } from "./load/load-orders.ts";
import type { LoadedStack } from "./load/loaded-stack.ts";
import { deleteAfter } from "./load/requests.ts";
import { type Sample, sampleEach } from "./load/sample.ts";
import { startLoad } from "./load/start-load.ts";
import { orderFor, putAll, queueName, settled, sliceMs, stackOnce } from "./load/steady-load.ts";
import { type Figures, machine, number, type Options, type Say } from "./report.ts";
import { type Judged, judged, latenessPanel, type Measure, measures } from "./soak-measures.ts";
import { soakPicture } from "./soak-picture.ts";
import { writePicture } from "./svg/write-picture.ts";

export const does =
  "creates, edits, deletes, fires, drains and reads together for minutes, and checks that every measure is flat";

export const options = {
  minutes: "5",
  rate: "200",
  handlers: "20",
  soon: "6",
  creates: "6",
  edits: "5",
  deletes: "6",
  reads: "12",
};

const minutesMin = 2;
const promisedMs = 1_000;

export interface SoakFigures extends Figures {
  asked: { minutes: number; rate: number; handlers: number; rates: Rates };
  judged: Judged[];
  measures: Measure[];
  ledger: CheckedLedger;
  verbs: LoadReport["verbs"];
  received: number;
  bytesPerJob: number;
  faults: string[];
}

interface Rates {
  soon: number;
  creates: number;
  edits: number;
  deletes: number;
  reads: number;
}

/**
 * The local stack as `npm start` runs it, under a steady load from another process: a measure that
 * keeps rising is a leak.
 */
export async function bench(options: Options, say: Say): Promise<SoakFigures> {
  const ms = number(options, "minutes") * 60_000;
  if (ms < minutesMin * 60_000)
    throw new Error(`--minutes takes at least ${minutesMin}: a trend needs time.`);
  const [rate, handlers] = [number(options, "rate"), number(options, "handlers")];
  if (handlers >= rate) throw new Error("--handlers takes fewer jobs a second than --rate.");
  const of = (name: keyof Rates) => number(options, name);
  const rates = {
    soon: of("soon"),
    creates: of("creates"),
    edits: of("edits"),
    deletes: of("deletes"),
    reads: of("reads"),
  };
  say(machine());
  await using stack = await stackOnce(options["data-dir"]);
  const spare = Math.ceil((rates.deletes * deleteAfter) / 60);
  const { from } = await putAll(
    stack,
    [
      { prefix: "steady", perSecond: rate - handlers + spare, target: { queue: queueName } },
      { prefix: "steady-handler", perSecond: handlers, target: { handler: "greet" } },
    ],
    say,
  );
  const between = { from: new Date(from), to: new Date(from + ms) };
  const standing = { prefix: "steady", count: (rate - handlers) * 60 };
  const { samples, report } = await underLoad(stack, { from, to: from + ms, rates, standing }, say);
  await settled(stack, between.to);
  const ledger = await checkLedger(stack.sql, between);
  const lateness = await latenessBySlice(stack.sql, between, sliceMs);
  const all = measures(samples, lateness, report.slices, from);
  const { judged: verdicts, untold } = judged(all);
  const faults = [
    ...verdicts.filter(({ flat }) => !flat).map(notFlat),
    ...verdicts.filter(isLate).map(({ level }) => `late: p99 is ${level.toFixed(0)} ms in the second half`),
    ...untold.map((name) => `too few slices have ${name}`),
    ...faultsOf(ledger, report),
  ];
  sayAll({ verdicts, report, ledger, faults, complaints: stack.complaints() }, say);
  if (faults.length > 0) process.exitCode = 1;
  return {
    asked: { minutes: ms / 60_000, rate, handlers, rates },
    judged: verdicts,
    measures: all,
    ledger,
    verbs: report.verbs,
    received: report.received,
    bytesPerJob: bytesPerJob(samples, ledger),
    faults,
    machine: machine(),
  };
}

async function underLoad(
  stack: LoadedStack,
  {
    from,
    to,
    rates,
    standing,
  }: { from: number; to: number; rates: Rates; standing: { prefix: string; count: number } },
  say: Say,
): Promise<{ samples: Sample[]; report: LoadReport }> {
  const targets = [{ queue: queueName }, { queue: queueName }, { handler: "greet" }];
  await using load = startLoad(orderFor(stack, { from, to, rates, standing, targets }));
  say(`measured from ${new Date(from).toISOString()} on; slices of ${sliceMs / 1_000} s`);
  const [samples, report] = await Promise.all([
    sampleEach(stack, { from, to, sliceMs }, ({ at, stack: own, postgres, tables }) => {
      const dead = tables.reduce((sum, table) => sum + table.dead, 0);
      say(
        `${Math.round((at - from) / 1_000)} s: stack ${megabytes(own)} MB, Postgres ${megabytes(postgres)} MB, ${dead} dead rows`,
      );
    }),
    load.report,
  ]);
  return { samples, report };
}

function megabytes(use: Sample["stack"]): string {
  return use === null ? "?" : (use.memoryBytes / 2 ** 20).toFixed(0);
}

/** The ledger's and the plan's bytes per job, including indexes. */
function bytesPerJob(samples: readonly Sample[], { states }: CheckedLedger): number {
  const bytes = (sample: Sample | undefined) =>
    (sample?.tables ?? [])
      .filter(({ name }) => name === "jobs" || name === "plan")
      .reduce((sum, { tableBytes, indexBytes }) => sum + tableBytes + indexBytes, 0);
  const jobs = Object.values(states).reduce((sum, count) => sum + count, 0);
  return Math.round((bytes(samples.at(-1)) - bytes(samples[0])) / Math.max(1, jobs));
}

/** A constant lateness of a minute is flat too, so the level is also checked. */
function isLate({ panel, label, level }: Judged): boolean {
  return panel === latenessPanel && label === "p99" && level > promisedMs;
}

function notFlat({ panel, label, unit, level, drift, allowed }: Judged): string {
  return `not flat: ${panel}${label === "" ? "" : `, ${label}`} rises by ${drift.toFixed(1)} ${unit} over the second half (level ${level.toFixed(1)}, allowed ${allowed.toFixed(1)})`;
}

function faultsOf(ledger: CheckedLedger, report: LoadReport): string[] {
  const failed = Object.entries(report.verbs).filter(([, { failures }]) => failures > 0);
  return [
    ...(ledger.faults > 0 ? [`${ledger.faults} faults in the ledger: ${JSON.stringify(ledger.first)}`] : []),
    ...failed.map(([verb, { failures, count }]) => `${failures} of ${count} ${verb} failed`),
    ...report.failures,
  ];
}

function sayAll(
  {
    verdicts,
    report,
    ledger,
    faults,
    complaints,
  }: Pick<SoakFigures, "ledger" | "faults"> & {
    verdicts: readonly Judged[];
    report: LoadReport;
    complaints: readonly string[];
  },
  say: Say,
): void {
  for (const { panel, label, unit, level, drift, flat } of verdicts)
    say(
      `${flat ? "flat" : "NOT FLAT"}: ${panel} ${label}: ${level.toFixed(1)} ${unit}, drift ${drift.toFixed(1)}`,
    );
  for (const [verb, { count, p50Ms, p99Ms }] of Object.entries(report.verbs))
    say(`${verb}: ${count}, p50 ${p50Ms} ms, p99 ${p99Ms} ms`);
  say(
    `ledger: ${ledger.owed} expected, ${JSON.stringify(ledger.states)}, ${ledger.faults} faults; ${report.received} received`,
  );
  for (const complaint of complaints) say(`the stack said: ${complaint}`);
  for (const fault of faults) say(`✗ ${fault}`);
}

export async function page(figures: SoakFigures): Promise<string> {
  const { asked, judged: verdicts, ledger, verbs, bytesPerJob: bytes, faults } = figures;
  const { rates } = asked;
  const picture = await writePicture("soak", soakPicture(figures));
  const rows = verdicts.map(
    ({ panel, label, unit, level, drift, allowed, flat }) =>
      `| ${panel}${label === "" ? "" : `, ${label}`} | ${level.toFixed(1)} ${unit} | ${drift.toFixed(1)} | ${allowed.toFixed(1)} | ${flat ? "yes" : "**no**"} |`,
  );
  const answered = Object.entries(verbs).map(
    ([verb, { count, p50Ms, p99Ms, maxMs }]) =>
      `| ${verb} | ${count.toLocaleString("en")} | ${p50Ms} | ${p99Ms} | ${maxMs} |`,
  );
  return `${asked.rate} jobs a second of existing schedules (${asked.handlers} of them to a handler, the others to a queue that is emptied), and over HTTP each second ${rates.soon} schedules put 1–5 s before they are due,
${rates.creates} minutely ones made and ${rates.deletes} deleted, ${rates.edits} edited (half of them with another time) and ${rates.reads} reads, for ${asked.minutes} minutes through the local stack as \`npm start\` runs it.

${picture}

| measure | level in the second half | its rise | allowed | flat |
|---|---|---|---|---|
${rows.join("\n")}

The rise is the slope by Theil and Sen over the second half, times its length; it may be a quarter of the level, or the measure's own noise. The ledger grows by design: ${bytes} bytes a job, with the plan and the indexes.

| requests | number | p50 ms | p99 ms | max ms |
|---|---|---|---|---|
${answered.join("\n")}

${ledger.owed.toLocaleString("en")} occurrences were expected, computed from the requests and their times: ${ledger.faults === 0 ? "each has exactly one job, all are settled, and none started early" : `**${ledger.faults} have faults**`}.${faults.length === 0 ? "" : `\n\nFaults: ${faults.join("; ")}.`}`;
}
