import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { cpuTimes, machineLine } from "./machine.ts";
import { type RunReport, reportVariable } from "./report.ts";
import { filesToRepeat, judge, type Verdict } from "./verdict.ts";

/**
 * The gate: lint, types and synth beside all tests; then the files with a failure again, alone and
 * with the same seed. A test that fails twice is red. One that passes the second time is green with
 * a line FLAKY. The last line is `N passed, N failed`.
 */

/** More files than this do not fail by chance, so a second run would only take time. */
const repeatedFilesMax = 10;
const slowestShown = 10;

const say = (text: string) => process.stdout.write(`${text}\n`);

interface Ended {
  code: number;
  output: string;
}

/**
 * Without `shown`, the output is kept until the end, so that the lines of two programs do not mix.
 */
function program(
  args: string[],
  { shown, env = {} }: { shown: boolean; env?: Record<string, string> },
): Promise<Ended> {
  const child = spawn("npm", args, {
    stdio: ["ignore", shown ? "inherit" : "pipe", shown ? "inherit" : "pipe"],
    env: { ...process.env, ...env },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

const reporter = path.join(import.meta.dirname, "report.ts");

interface TestRun {
  code: number;
  report: RunReport;
}

/** Null when vitest ended without a report. */
async function runTests(args: string[]): Promise<TestRun | null> {
  const directory = await mkdtemp(path.join(tmpdir(), "carillon-gate-"));
  const report = path.join(directory, "report.json");
  try {
    const { code } = await program(
      ["test", "--silent", "--", "--reporter=default", `--reporter=${reporter}`, ...args],
      { shown: true, env: { [reportVariable]: report } },
    );
    return { code, report: JSON.parse(await readFile(report, "utf8")) };
  } catch (error) {
    say(`The tests wrote no report: ${String(error)}`);
    return null;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Runs the files with a failure again, one after the other, each in a process of its own. */
async function repeat(first: RunReport, testArgs: string[]): Promise<RunReport | null> {
  const files = filesToRepeat(first);
  if (files.length === 0) return null;
  if (files.length > repeatedFilesMax) {
    say(`${files.length} files failed. At most ${repeatedFilesMax} are run a second time.`);
    return null;
  }
  say(`Once more, alone: ${files.join(", ")}`);
  const options = testArgs.filter((each) => each.startsWith("-"));
  return (await runTests([...files, ...options, "--isolate", "--maxWorkers=1"]))?.report ?? null;
}

async function failedSteps(steps: readonly string[]): Promise<string[]> {
  const ended = await Promise.all(
    steps.map(async (step) => ({ step, ...(await program(["run", "--silent", step], { shown: false })) })),
  );
  for (const { step, code, output } of ended)
    say(`${step}: ${code === 0 ? "passed" : "failed"}\n${output.trimEnd()}`);
  return ended.filter(({ code }) => code !== 0).map(({ step }) => step);
}

async function gate(testArgs: string[]): Promise<number> {
  const before = cpuTimes();
  const steps = testArgs.length > 0 ? [] : ["lint", "types", "synth"];
  const [failedFirst, tests] = await Promise.all([failedSteps(steps), runTests(testArgs)]);
  const verdict = tests === null ? null : judge(tests.report, await repeat(tests.report, testArgs));
  const failed = [...failedFirst.map((step) => `npm run ${step}`), ...failedTests(tests, verdict)];
  const flaky = verdict?.flaky ?? [];

  const slowest = (tests?.report.files ?? []).toSorted((a, b) => b.ms - a.ms).slice(0, slowestShown);
  for (const { file, ms } of slowest) say(`${(ms / 1_000).toFixed(1).padStart(7)} s  ${file}`);
  say(machineLine(before));
  for (const name of failed) say(`FAILED ${name}`);
  for (const name of flaky) say(`FLAKY ${name}`);
  say(`${verdict?.passed ?? 0} passed, ${failed.length} failed`);
  return failed.length === 0 ? 0 : 1;
}

function failedTests(tests: TestRun | null, verdict: Verdict | null): string[] {
  if (tests === null || verdict === null) return ["the tests: they wrote no report"];
  if (verdict.passed === 0) return [...verdict.failed, "the tests: none has passed"];
  // For example a failing teardown, which is in no test's result.
  const isUnexplained = tests.code !== 0 && verdict.failed.length === 0 && verdict.flaky.length === 0;
  return isUnexplained ? [`the tests: vitest ended with code ${tests.code}`] : verdict.failed;
}

process.exitCode = await gate(process.argv.slice(2));
