import type { RunReport } from "./report.ts";

export interface Verdict {
  passed: number;
  /** Failed in one run and passed in the other. */
  flaky: string[];
  /** Failed in both runs, or failed and was not repeated. */
  failed: string[];
}

/**
 * The files with a failure. They are repeated as a whole, since a test may depend on the ones
 * before it.
 */
export function filesToRepeat(report: RunReport): string[] {
  const failed = report.files.filter(({ ending }) => ending === "failed").map(({ file }) => file);
  const unhandled = report.unhandled.flatMap(({ file }) => (file === null ? [] : [file]));
  return [...new Set([...failed, ...unhandled])];
}

/**
 * `second` is the run of the files with a failure alone, or null when there was none. A failure is
 * forgiven only when the other run has a pass.
 */
export function judge(first: RunReport, second: RunReport | null): Verdict {
  const endings = [first, ...(second === null ? [] : [second])].map(endingsOf);
  const names = new Set(endings.flatMap((each) => [...each.keys()]));
  const flaky: string[] = [];
  const failed: string[] = [];
  for (const name of names) {
    const seen = endings.map((each) => each.get(name));
    if (!seen.includes("failed")) continue;
    (seen.includes("passed") ? flaky : failed).push(name);
  }
  const unproven = new Set(failed);
  const passed = first.tests.filter(
    (test) => test.ending !== "skipped" && !unproven.has(`${test.file} > ${test.name}`),
  );
  return { passed: passed.length, flaky, failed };
}

/**
 * The result of each test, of each file outside of its tests, and of each file's errors that no
 * test awaited.
 */
function endingsOf({ files, tests, unhandled }: RunReport): Map<string, "passed" | "failed"> {
  const endings = new Map<string, "passed" | "failed">();
  for (const { file, name, ending } of tests)
    if (ending !== "skipped") endings.set(`${file} > ${name}`, ending);
  const withFailedTest = new Set(tests.filter(({ ending }) => ending === "failed").map(({ file }) => file));
  for (const { file, ending, fault } of files) {
    const failedOutside = fault !== null || (ending === "failed" && !withFailedTest.has(file));
    endings.set(`${file} (outside of its tests)`, failedOutside ? "failed" : "passed");
    endings.set(unawaited(file), "passed");
  }
  for (const { file, message } of unhandled) endings.set(unawaited(file, message), "failed");
  return endings;
}

const unawaited = (file: string | null, message = "") =>
  file === null
    ? `an unknown file (an error that no test awaited: ${message})`
    : `${file} (an error that no test awaited)`;
