import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { z } from "zod";
import { bundleBudgets } from "../infra/bundle-budgets.ts";
import { bundled } from "../infra/bundled.ts";
import { type Figures, machine, median, number, type Options, type Say } from "./report.ts";

/** A time that is reported and not enforced: it depends on the machine and on its other load. */
const importAimMs = 150;

interface Bundle {
  file: string;
  functions: string[];
  budget: number;
}

interface Import {
  ms: number;
  cpuMs: number;
}

interface BundleFigures {
  functions: string[];
  bytes: number;
  budget: number;
  zippedBytes: number;
  importMs: Spread;
  cpuMs: Spread;
}

interface Spread {
  min: number;
  median: number;
}

export const does =
  "size of each function's bundle against its budget, and how long a fresh process takes to import it; needs no database";

export const options = { runs: "20" };

/**
 * Measures what a cold start of each function loads: the size of its bundle, and the time in which
 * a new process imports it. The bundles take turns, together with an empty module, so that other
 * load on the machine affects all of them. Fails when a bundle exceeds its budget.
 */
export async function bench(options: Options, say: Say): Promise<BundlesFigures> {
  const runs = number(options, "runs");
  say(machine());
  const outdir = mkdtempSync(path.join(tmpdir(), "carillon-bundles-"));
  try {
    const empty = path.join(outdir, "empty.mjs");
    writeFileSync(empty, "export {};\n");
    const bundles = byFolder(bundled(outdir, { Carillon: {} }).Carillon);
    const imports = yieldOften([empty, ...bundles.map(({ file }) => file)], runs);

    const emptyMs = spread((imports.get(empty) ?? []).map(({ ms }) => ms));
    const measured = bundles.map((bundle) => figuresOf(bundle, imports.get(bundle.file) ?? []));
    for (const one of measured) say(lineOf(one));
    say(`an empty module: imported in ${spreadText(emptyMs)} ms`);

    const bytes = Math.max(...measured.map((one) => one.bytes));
    const importMs = Math.max(...measured.map((one) => one.importMs.min));
    say(
      `bundle: at most ${kilobytes(bytes)} kB, imported in at most ${importMs} ms of ${importAimMs} (the quickest of ${runs} processes each)`,
    );
    const overBudget = measured.filter((one) => one.bytes > one.budget).flatMap((one) => one.functions);
    if (overBudget.length > 0) {
      say(`over its budget in test/infra/bundle-budgets.ts: ${overBudget.join(", ")}`);
      process.exitCode = 1;
    }
    return { bytes, importMs, emptyMs, bundles: measured, overBudget, runs, machine: machine() };
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}

interface BundlesFigures extends Figures {
  bundles: BundleFigures[];
  emptyMs: Spread;
  importMs: number;
  runs: number;
}

export function page({ bundles, emptyMs, importMs, runs }: BundlesFigures): string {
  const rows = bundles.map(
    ({ functions, bytes, zippedBytes, importMs: took, cpuMs }) =>
      `| ${functions.join(", ")} | ${kilobytes(bytes)} | ${kilobytes(zippedBytes)} | ${took.min} | ${took.median} | ${cpuMs.min} |`,
  );
  return `The code that a cold start loads, in ${runs} new processes each, in turns; an empty module takes ${spreadText(emptyMs)} ms.

| functions | kB | zipped | imported, ms: quickest | median | CPU, ms: least |
|---|--:|--:|--:|--:|--:|
${rows.join("\n")}

The largest has ${kilobytes(Math.max(...bundles.map(({ bytes }) => bytes)))} of the 1,500 kB of the budget; each has a smaller one of its own, which a test enforces. The ${importAimMs} ms of the budget are ${importMs <= importAimMs ? "met by all" : `missed by the slowest, which takes ${importMs}`}, measured by the quickest process: the median includes the machine's other load.`;
}

/** Functions may share one bundle; the smallest of their budgets applies. */
function byFolder(bundles: Readonly<Record<string, string>>): Bundle[] {
  return [...Map.groupBy(Object.entries(bundles), ([, folder]) => folder)].map(([folder, entries]) => {
    const functions = entries.map(([construct]) => construct);
    const budget = Math.min(...functions.map((construct) => bundleBudgets[construct] ?? 0));
    return { file: path.join(folder, "index.mjs"), functions, budget };
  });
}

function yieldOften(files: readonly string[], runs: number): Map<string, Import[]> {
  const imports = new Map<string, Import[]>(files.map((file) => [file, []]));
  for (let run = 0; run < runs; run += 1)
    for (const [file, measured] of imports) measured.push(importOf(file));
  return imports;
}

const importFigures = z.object({ ms: z.number(), cpuMs: z.number() });

/** Runs in a new process with the functions' start options. */
function importOf(file: string): Import {
  const program = `
    const [startedAt, used] = [performance.now(), process.cpuUsage()];
    await import(${JSON.stringify(pathToFileURL(file).href)});
    const { user, system } = process.cpuUsage(used);
    process.stdout.write(JSON.stringify({ ms: performance.now() - startedAt, cpuMs: (user + system) / 1_000 }));
    process.exit();`;
  const args = ["--enable-source-maps", "--input-type=module", "--eval", program];
  // An empty environment: a bundle must load without any variable.
  return importFigures.parse(JSON.parse(execFileSync(process.execPath, args, { env: {}, encoding: "utf8" })));
}

function figuresOf({ file, functions, budget }: Bundle, imports: readonly Import[]): BundleFigures {
  return {
    functions,
    bytes: statSync(file).size,
    budget,
    zippedBytes: gzipSync(readFileSync(file)).length,
    importMs: spread(imports.map(({ ms }) => ms)),
    cpuMs: spread(imports.map(({ cpuMs }) => cpuMs)),
  };
}

function lineOf({ functions, bytes, budget, zippedBytes, importMs, cpuMs }: BundleFigures): string {
  const size = `${kilobytes(bytes)} of ${kilobytes(budget)} kB (${kilobytes(zippedBytes)} kB zipped)`;
  return `${functions.join(", ").padEnd(24)} ${size}, imported in ${spreadText(importMs)} ms with ${spreadText(cpuMs)} ms of CPU`;
}

function spread(values: readonly number[]): Spread {
  return { min: Math.round(Math.min(...values)), median: Math.round(median(values)) };
}

/** The minimum is the cost on an idle machine; the median includes this machine's other load. */
function spreadText({ min, median: middle }: Spread): string {
  return `${min} (median ${middle})`;
}

function kilobytes(bytes: number): string {
  return Math.round(bytes / 1_000).toLocaleString("en");
}
