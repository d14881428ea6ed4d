import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { startProcess } from "../local/local-stack.ts";

/** The version of the last run; another version may find more, or check other rules. */
const pinned = "schemathesis==4.32.5";

const cannotRun = `The contract was not tested: schemathesis is not installed. It needs Python 3.10 or newer; install it with \`pip install ${pinned}\`, or set its path in CARILLON_SCHEMATHESIS.`;

/**
 * Disabled, because a JSON Schema cannot say which cron expressions and time zones are valid, or
 * whether a schedule can ever run.
 */
const excluded = ["positive_data_acceptance"];

const token = "contract-token";

process.exitCode = await run();

/**
 * Starts a separate stack and runs schemathesis against it; further arguments are passed on to
 * `schemathesis run`.
 */
async function run(): Promise<number> {
  const program = process.env["CARILLON_SCHEMATHESIS"] ?? "schemathesis";
  if (!(await isThere(program))) {
    process.stdout.write(`${cannotRun}\n`);
    return 0;
  }
  const folder = mkdtempSync(path.join(tmpdir(), "carillon-contract-"));
  const stack = await startProcess(path.join(folder, "data"), { CARILLON_TOKEN: token });
  try {
    return await tried(program, stack.urls.api, folder);
  } finally {
    await stack.end("SIGTERM");
    rmSync(folder, { recursive: true, force: true });
  }
}

async function isThere(program: string): Promise<boolean> {
  const child = spawn(program, ["--version"], { stdio: "ignore" });
  const [code] = await Promise.race([once(child, "exit"), once(child, "error").then(() => [1])]);
  return code === 0;
}

async function tried(program: string, api: string, folder: string): Promise<number> {
  const options = [
    "run",
    `${api}/v1/openapi.json`,
    "--header",
    `Authorization: Bearer ${token}`,
    "--checks",
    "all",
    "--exclude-checks",
    excluded.join(","),
    "--max-examples",
    "30",
    "--continue-on-failure",
    "--no-color",
    ...process.argv.slice(2),
  ];
  // Schemathesis stores its findings in its working directory.
  const child = spawn(program, options, { stdio: "inherit", cwd: folder });
  // On a signal the child ends first, so that the `finally` above stops the stack.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => child.kill(signal));
  const [code] = await once(child, "exit");
  return code === 0 ? 0 : 1;
}
