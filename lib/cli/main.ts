#!/usr/bin/env node
import "../config/node-version.ts";
import { readFile } from "node:fs/promises";
import packageJson from "../../package.json" with { type: "json" };
import { pause } from "../client/request/backoff.ts";
import { programs } from "./dev/programs.ts";
import { UsageFault } from "./fault.ts";
import { secretFile } from "./secret-file.ts";

// Loaded after the check of the version: in the package, the commands are files of their own, and
// files that are imported at the top run before it.
const { run } = await import("./run.ts");

const stop = new AbortController();
// The first Ctrl-C stops the command, a second one the process.
process.once("SIGINT", () => stop.abort());
process.once("SIGTERM", () => stop.abort());
// The reader of the output has closed it, as with `| head`.
process.stdout.on("error", (error) => process.exit("code" in error && error.code === "EPIPE" ? 0 : 1));

process.exitCode = await run(process.argv.slice(2), {
  terminal: {
    write: (text) => void process.stdout.write(text),
    note: (text) => void process.stderr.write(text),
    isTty: process.stdout.isTTY === true,
    width: widthOf(process.env["COLUMNS"]) ?? process.stdout.columns,
  },
  env: process.env,
  version: packageJson.version,
  signal: stop.signal,
  now: Date.now,
  pause,
  read: readText,
  secretFile,
  programs,
  streams: () => ({ input: process.stdin, output: process.stdout }),
  ask,
});

function widthOf(columns: string | undefined): number | undefined {
  return columns !== undefined && /^[1-9]\d{0,3}$/.test(columns) ? Number(columns) : undefined;
}

async function readText(file: string): Promise<string> {
  if (file !== "-") {
    try {
      return await readFile(file, "utf8");
    } catch (error) {
      throw new UsageFault(
        `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }
  let text = "";
  for await (const chunk of process.stdin.setEncoding("utf8")) text += String(chunk);
  return text;
}

async function ask(question: string): Promise<string | null> {
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) return null;
  // Loaded here, because a Node that is too old lacks it and could not say so.
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(`${question} [y/N] `, { signal: stop.signal });
  } finally {
    lines.close();
  }
}
