import { execFile } from "node:child_process";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const patienceMs = 600_000;

/** The message that a tool is missing, or null when it answers a query for its version. */
export async function missingTool(
  file: string,
  args: readonly string[],
  name: string,
): Promise<string | null> {
  try {
    await run(file, args, { timeout: 30_000 });
    return null;
  } catch {
    return `${name} is not installed`;
  }
}

export interface Installation {
  /** A folder of test/bench/peers/. */
  source: string;
  /** The folder of all installed peers. */
  directory: string;
  /** Commands to run in the copy, one after the other. */
  steps: readonly (readonly [file: string, ...args: string[]])[];
  /** The files that decide whether the copy is rebuilt, such as its lockfile. */
  manifests: readonly string[];
}

const stampName = ".installed";

/**
 * Copies a folder of peers out of the repository and builds it there, unless that was done with the
 * same manifests before. The programs themselves are copied every time.
 */
export async function install({ source, directory, steps, manifests }: Installation): Promise<string> {
  const from = path.join(import.meta.dirname, source);
  const into = path.join(directory, source);
  const stamp = (await Promise.all(manifests.map((name) => readFile(path.join(from, name), "utf8")))).join(
    "\n",
  );
  await mkdir(into, { recursive: true });
  await cp(from, into, { recursive: true });
  if (stamp === (await readFile(path.join(into, stampName), "utf8").catch(() => ""))) return into;
  for (const [file, ...args] of steps) await step(file, args, into);
  await writeFile(path.join(into, stampName), stamp);
  return into;
}

async function step(file: string, args: readonly string[], cwd: string): Promise<void> {
  try {
    await run(file, args, { cwd, timeout: patienceMs, maxBuffer: 2 ** 26 });
  } catch (error) {
    const told = typeof error === "object" && error !== null && "stderr" in error ? String(error.stderr) : "";
    throw new Error(`"${[file, ...args].join(" ")}" failed in ${cwd}: ${told.trim().slice(-2_000)}`, {
      cause: error,
    });
  }
}
