import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { startProcess } from "../local/local-stack.ts";

/** With this one it was run; another may find more, or look for something else. */
const pinned = "schemathesis==4.32.5";

const cannotRun = `The contract was not tried: there is no schemathesis. It takes Python 3.10 or newer; install it with \`pip install ${pinned}\`, or name its program in CARILLON_SCHEMATHESIS.`;

/**
 * That whatever fits a schema is taken can be no check here: which cron expressions there are, which time zones, and whether a schedule could ever
 * run no JSON Schema can say.
 */
const excluded = ["positive_data_acceptance"];

const token = "contract-token";

process.exitCode = await run();

/** Starts a stack of its own and lets schemathesis try it; further arguments are passed on to `schemathesis run`. */
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
  // It keeps what it found in its working directory.
  const child = spawn(program, options, { stdio: "inherit", cwd: folder });
  // The stack is stopped by whoever awaits this: it outlives nobody who ends the run.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => child.kill(signal));
  const [code] = await once(child, "exit");
  return code === 0 ? 0 : 1;
}
