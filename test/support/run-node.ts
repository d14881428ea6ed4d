import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const repository = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Runs a module in a process of its own, for state that is only read when a process starts. Returns
 * its output.
 */
export async function runNode(module: string, env: Record<string, string>): Promise<string> {
  const { out, err, end } = await endOfNode(module, env);
  if (end !== 0) throw new Error(`The process ended with ${end}:\n${err}`);
  return out.trim();
}

/**
 * The same for a process that is to be ended: `end` is its exit code, or the signal that ended it.
 */
export async function endOfNode(
  module: string,
  env: Record<string, string>,
): Promise<{ out: string; err: string; end: number | NodeJS.Signals | null }> {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", module], {
    cwd: repository,
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
    // A process that blocks itself would outlive the tests.
    timeout: 100_000,
    killSignal: "SIGQUIT",
  });
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  const end = await new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.on("close", (code, signal) => resolve(code ?? signal));
  });
  return { out, err, end };
}
