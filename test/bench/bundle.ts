import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { bundled } from "../infra/bundled.ts";
import { type Figures, machine, median, number, type Options, type Say } from "./report.ts";

interface BundleFigures {
  functions: string[];
  bytes: number;
  zippedBytes: number;
  importMs: number;
}

/** What a cold start of each function has to load: how large its bundle is, and how long a fresh process takes to import it. */
export async function bench(options: Options, say: Say): Promise<Figures> {
  const runs = number(options, "runs", 20);
  say(machine());
  const outdir = mkdtempSync(path.join(tmpdir(), "carillon-bundles-"));
  try {
    const bundles = byFolder(bundled(outdir, { Carillon: {} }).Carillon).map(([folder, functions]) => {
      const figures = measured(path.join(folder, "index.mjs"), functions, runs);
      say(
        `${functions.join(", ").padEnd(24)} ${kilobytes(figures.bytes)} kB (${kilobytes(figures.zippedBytes)} kB zipped), imported in ${figures.importMs} ms`,
      );
      return figures;
    });
    const bytes = Math.max(...bundles.map((one) => one.bytes));
    const importMs = Math.max(...bundles.map((one) => one.importMs));
    say(
      `bundle: at most ${kilobytes(bytes)} kB, imported in at most ${importMs} ms (the median of ${runs} processes)`,
    );
    return { bytes, importMs, bundles, runs, machine: machine() };
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}

/** Functions may share one bundle. */
function byFolder(bundles: Readonly<Record<string, string>>): [folder: string, functions: string[]][] {
  return [...Map.groupBy(Object.entries(bundles), ([, folder]) => folder)].map(([folder, entries]) => [
    folder,
    entries.map(([construct]) => construct),
  ]);
}

function measured(file: string, functions: string[], runs: number): BundleFigures {
  return {
    functions,
    bytes: statSync(file).size,
    zippedBytes: gzipSync(readFileSync(file)).length,
    importMs: Math.round(median(Array.from({ length: runs }, () => importMs(file)))),
  };
}

/** In a process of its own that has loaded nothing, with the options that the functions are started with. */
function importMs(file: string): number {
  const program = `
    const startedAt = performance.now();
    await import(${JSON.stringify(pathToFileURL(file).href)});
    process.stdout.write(String(performance.now() - startedAt));
    process.exit();`;
  const args = ["--enable-source-maps", "--input-type=module", "--eval", program];
  // Nothing of this environment: a bundle must load without any of it.
  return Number(execFileSync(process.execPath, args, { env: {}, encoding: "utf8" }));
}

function kilobytes(bytes: number): string {
  return Math.round(bytes / 1_000).toLocaleString("en");
}
