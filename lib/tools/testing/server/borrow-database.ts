import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { createConnection, type Socket } from "node:net";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { migrationsDirectory } from "../../../db/migrate/migration.ts";
import { kitFolder, logOf, socketOf } from "./kit-folder.ts";

export interface BorrowedDatabase {
  url: string;
  /** The process that keeps the server. */
  pid: number;
  /** The server drops the database. */
  giveBack(): void;
}

const answer = z.union([z.object({ url: z.string(), pid: z.int() }), z.object({ error: z.string() })]);

/** Found beside the migrations: a bundle has this module at another place than its source. */
const script = path.join(
  fileURLToPath(migrationsDirectory),
  "../lib/tools/testing/server",
  `keep-server${path.extname(import.meta.filename)}`,
);
const pollMs = 25;
const patienceMs = 90_000;

/**
 * A database of its own for a test, from the server that all tests of this user share. The first
 * test starts that server; it stops by itself a minute after the last one.
 */
export async function borrowDatabase(): Promise<BorrowedDatabase> {
  const folder = await kitFolder();
  const socket = (await connected(folder)) ?? (await startedAndConnected(folder));
  const said = answer.parse(JSON.parse(await firstLine(socket)));
  // An idle connection does not keep the test's process alive.
  socket.unref();
  if ("error" in said) throw new Error(`The test server could not make a database: ${said.error}`);
  return { ...said, giveBack: () => void socket.destroy() };
}

async function startedAndConnected(folder: string): Promise<Socket> {
  const server = startServer(folder);
  for (let waited = 0; waited < patienceMs; waited += pollMs) {
    const socket = await connected(folder);
    if (socket !== null) return socket;
    // With code 0 it found another one that starts at the same time.
    if (server.exitCode !== null && server.exitCode !== 0)
      throw new Error(`The test server did not start: ${tail(logOf(folder))}`);
    await setTimeout(pollMs);
  }
  throw new Error(
    `The test server did not start within ${patienceMs / 1_000} s; its log is ${logOf(folder)}.`,
  );
}

function startServer(folder: string): ChildProcess {
  const log = openSync(logOf(folder), "a", 0o600);
  try {
    const options = { detached: true, stdio: ["ignore", log, log] as const };
    const child = spawn(process.execPath, [script, folder], { ...options, stdio: [...options.stdio] });
    child.unref();
    return child;
  } finally {
    closeSync(log);
  }
}

/** Null if nothing listens there. */
function connected(folder: string): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = createConnection(socketOf(folder));
    socket.once("connect", () => resolve(socket));
    socket.once("error", () => resolve(null));
  });
}

function firstLine(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    socket.on("data", (part) => {
      text += String(part);
      const end = text.indexOf("\n");
      if (end >= 0) resolve(text.slice(0, end));
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("The test server has ended.")));
  });
}

const tail = (file: string): string => readFileSync(file, "utf8").trimEnd().split("\n").slice(-5).join("\n");
