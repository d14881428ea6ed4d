import { fork } from "node:child_process";
import path from "node:path";
import { type LoadOrder, type LoadReport, loadReport } from "./load-orders.ts";
import { stopProcess } from "./loaded-stack.ts";

export interface RunningLoad extends AsyncDisposable {
  pid: number;
  /** The result, once the time is over. */
  report: Promise<LoadReport>;
}

const script = path.join(import.meta.dirname, "generate-load.ts");

/**
 * A process of its own: sending must not wait for measuring, and its CPU time is reported
 * separately.
 */
export function startLoad(order: LoadOrder): RunningLoad {
  const child = fork(script, { stdio: ["ignore", "inherit", "inherit", "ipc"], execArgv: [] });
  const report = new Promise<LoadReport>((resolve, reject) => {
    child.once("message", (message) => resolve(loadReport.parse(message)));
    child.once("error", reject);
    child.once("exit", (code) =>
      reject(new Error(`The load generator exited with code ${code} and no report.`)),
    );
  });
  report.catch(() => {});
  child.send(order);
  return { pid: child.pid ?? 0, report, [Symbol.asyncDispose]: () => stopProcess(child) };
}
