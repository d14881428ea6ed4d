import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const repository = fileURLToPath(new URL("../..", import.meta.url));

/** Runs a module in a process of its own, for what is only read when a process starts, and answers with what it printed. */
export async function runNode(module: string, env: Record<string, string>): Promise<string> {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", module], {
    cwd: repository,
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  if (code !== 0) throw new Error(`The process ended with ${code}:\n${err}`);
  return out.trim();
}
