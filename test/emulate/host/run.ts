import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Closers } from "../../../lib/tools/local/closers.ts";
import { untilStopped } from "../../../lib/tools/local/until-stopped.ts";
import { findLocalstack, howToInstall, pinned } from "./localstack-process.ts";
import { withResult } from "./report.ts";
import type { Walked } from "./walk.ts";

/**
 * `npm run localstack:host`: deploys the profile into LocalStack without Docker, as far as it goes, and runs this
 * repository's functions at its queues, its rule and its API. Then the smoke test runs, and everything is stopped.
 * With `-- --write`, the result goes to docs/localstack.md.
 */
const page = path.join(import.meta.dirname, "..", "..", "..", "docs", "localstack.md");

process.exit(await main());

async function main(): Promise<number> {
  const found = findLocalstack(process.env);
  if ("missing" in found) {
    process.stderr.write(`${howToInstall(found.missing)}\n`);
    return 1;
  }
  const folder = mkdtempSync(path.join(tmpdir(), "carillon-host-"));
  let said = "";
  const print = (text: string) => {
    said += text;
    process.stdout.write(text);
  };
  try {
    const walked = await walkUntilStopped(found.python, folder, print);
    if (process.argv.includes("--write"))
      writeFileSync(page, withResult(readFileSync(page, "utf8"), { pinned, ...walked, said }));
    print("Everything that was started is stopped.\n");
    return 0;
  } catch (error) {
    process.stderr.write(`not ok  ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whatever its outcome, all that the walk started is stopped at the end. */
async function walkUntilStopped(
  python: string,
  folder: string,
  print: (text: string) => void,
): Promise<Walked> {
  const started = new Closers();
  const stopping = new AbortController();
  const stopped = untilStopped().then(() => stopping.abort());
  // Only now: its imports take seconds, and a missing LocalStack needs none of them.
  const { walk } = await import("./walk.ts");
  const walking = walk({ python, folder, started, stopping: stopping.signal, print });
  try {
    const walked = await Promise.race([walking, stopped]);
    if (walked !== undefined) return walked;
    process.stderr.write("Stopping. The step under way ends first.\n");
    await started.close();
    // The step that was under way fails without its parts, or ends and may have started another part.
    await walking.catch(() => {});
    throw new Error("Stopped before the end.");
  } finally {
    await started.close();
  }
}
