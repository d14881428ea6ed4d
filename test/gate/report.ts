import { writeFileSync } from "node:fs";
import path from "node:path";
import type { Reporter, SerializedError, TestModule } from "vitest/node";

export type Ending = "passed" | "failed" | "skipped";

export interface TestReport {
  file: string;
  name: string;
  ending: Ending;
}

export interface RunReport {
  files: { file: string; ending: Ending; ms: number; fault: string | null }[];
  tests: TestReport[];
  /** Errors that no test awaited, with the file that was running, as far as vitest knows it. */
  unhandled: { file: string | null; message: string }[];
}

/** The variable with the path of the run's report. */
export const reportVariable = "CARILLON_GATE_REPORT";

/**
 * Writes the results that the gate needs. vitest's own JSON report lacks errors outside of tests.
 */
export default class GateReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const target = process.env[reportVariable];
    if (target === undefined) throw new Error(`${reportVariable} must name the file for the report.`);
    writeFileSync(target, JSON.stringify(runReport(modules, unhandled)));
  }
}

const relative = (file: string) => path.relative(process.cwd(), file);

function runReport(modules: readonly TestModule[], unhandled: readonly SerializedError[]): RunReport {
  return {
    files: modules.map((module) => ({
      file: relative(module.moduleId),
      ending: endingOf(module.state()),
      ms: Math.round(module.diagnostic().duration + module.diagnostic().collectDuration),
      fault: module.errors()[0]?.message ?? null,
    })),
    tests: modules.flatMap((module) =>
      [...module.children.allTests()].map((test) => ({
        file: relative(module.moduleId),
        name: test.fullName,
        ending: endingOf(test.result().state),
      })),
    ),
    unhandled: unhandled.map((error) => ({
      file: typeof error["VITEST_TEST_PATH"] === "string" ? relative(error["VITEST_TEST_PATH"]) : null,
      message: error.message,
    })),
  };
}

/** A test that has not finished has not passed. */
function endingOf(state: string): Ending {
  return state === "passed" || state === "skipped" ? state : "failed";
}
