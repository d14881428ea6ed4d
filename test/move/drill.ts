import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import postgres from "postgres";
import { freeLoopbackPort } from "../../lib/tools/local/free-port.ts";
import { startPostgres } from "../../lib/tools/local/postgres/start-postgres.ts";
import { type StackProcess, startProcess } from "../local/local-stack.ts";
import { diceOf, seeded } from "../race/seeded.ts";
import { type DrillLedger, judgeDrill, readDrill } from "./drill-ledger.ts";

/**
 * `npm run drill:move`: moves schedules between two local stacks while they run, kills the command
 * and the stacks in the middle (SIGKILL), and compares both ledgers with the requests. It fails too if the
 * move ended before all of them were killed.
 */
const schedules = Number(process.env["DRILL_SCHEDULES"] ?? 2_000);
const kills = Number(process.env["DRILL_KILLS"] ?? 6);
/** A stack is killed after every second command. */
const stackKills = Math.floor(kills / 2);
const seed = Number(process.env["DRILL_SEED"] ?? 1);
const dice = diceOf(seeded(seed));
const prefix = "drill:";
const cli = path.join(import.meta.dirname, "..", "..", "lib", "cli", "main.ts");
const say = (line: string) => process.stdout.write(`${line}\n`);

interface House {
  name: string;
  dataDir: string;
  env: Record<string, string>;
  stack: StackProcess;
}

async function open(name: string): Promise<House> {
  const dataDir = mkdtempSync(path.join(tmpdir(), `carillon-drill-${name}-`));
  const [api, sqs, events] = [await freeLoopbackPort(), await freeLoopbackPort(), await freeLoopbackPort()];
  const env = {
    CARILLON_PORT: String(api),
    CARILLON_SQS_PORT: String(sqs),
    CARILLON_EVENTS_PORT: String(events),
  };
  return { name, dataDir, env, stack: await startProcess(dataDir, env) };
}

async function restart(house: House): Promise<void> {
  await house.stack.end("SIGKILL");
  house.stack = await startProcess(house.dataDir, house.env);
}

async function putAll({ stack }: House): Promise<void> {
  for (let from = 0; from < schedules; from += 500) {
    const operations = Array.from({ length: Math.min(500, schedules - from) }, (_, index) => {
      const n = from + index;
      const group = n % 20 < 2 ? { group: `${prefix}g${Math.floor(n / 40)}`, serial: true } : {};
      return {
        put: {
          key: `${prefix}${n}`,
          when: `every ${10 + (n % 50)}s`,
          target: { queue: "drill" },
          catchUp: { policy: "all", limit: 1_000 },
          ...group,
        },
      };
    });
    const answer = await stack.request("POST", "/v1/schedules:batch", { operations });
    if (!answer.ok) throw new Error(`The schedules were not made: ${answer.status} ${await answer.text()}`);
  }
}

function move(from: House, to: House): ChildProcess {
  const token = "test-token";
  return spawn(
    process.execPath,
    [cli, "move", "--prefix", prefix, "--to", to.stack.urls.api, "--yes", "--finish", "--page", "50"],
    {
      env: {
        ...process.env,
        CARILLON_URL: from.stack.urls.api,
        CARILLON_TOKEN: token,
        CARILLON_TO_TOKEN: token,
      },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
}

/** Runs the command again and again, killed at any moment, and at last to its end. */
async function moveKilled(
  from: House,
  to: House,
): Promise<{ killed: number; stacksKilled: number; lastMs: number }> {
  let stacksKilled = 0;
  let failed = 0;
  for (let killed = 0; ; ) {
    const began = performance.now();
    const child = move(from, to);
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (text) => (said += String(text)));
    const ended = once(child, "exit");
    const isLast = killed >= kills;
    const timer = isLast ? null : pause(dice.between(500, 2_000)).then(() => child.kill("SIGKILL"));
    const [code] = await ended;
    await timer;
    if (code === 0) return { killed, stacksKilled, lastMs: performance.now() - began };
    if (child.signalCode === null) {
      say(`    the command ended with ${String(code)}: ${said.trim().split("\n").at(-1) ?? ""}`);
      failed += 1;
      if (isLast || failed > kills) throw new Error(`The last command failed:\n${said}`);
      continue;
    }
    killed += 1;
    if (killed % 2 === 0) {
      await restart(killed % 4 === 0 ? from : to);
      stacksKilled += 1;
    }
  }
}

async function ledgerOf({ dataDir, name }: House): Promise<DrillLedger> {
  const server = await startPostgres({ dataDir: path.join(dataDir, "postgres") });
  const sql = postgres(Object.assign(new URL(server.url), { pathname: "/carillon" }).href, { max: 1 });
  try {
    return await readDrill(sql, name, prefix);
  } finally {
    await sql.end();
    await server.stop();
  }
}

const houses = [await open("old"), await open("new")] as const;
const [old, other] = houses;
try {
  await putAll(old);
  say(`ok  ${schedules} schedules in the old installation`);
  await pause(20_000);
  const from = Date.now();
  const { killed, stacksKilled, lastMs } = await moveKilled(old, other);
  const to = Date.now();
  say(
    `ok  moved in ${Math.round((to - from) / 1_000)} s, ${killed} commands and ${stacksKilled} stacks killed, the last command took ${Math.round(lastMs)} ms`,
  );
  await pause(100_000);
  const end = Date.now() - 70_000;
  for (const { stack } of houses) await stack.end("SIGTERM");
  const ledgers = [await ledgerOf(old), await ledgerOf(other)];
  const { lines, violations } = judgeDrill(ledgers, { end, moved: { from, to } });
  if (killed < kills || stacksKilled < stackKills)
    violations.unshift(
      `the move ended after ${killed} of ${kills} commands and ${stacksKilled} of ${stackKills} stacks were killed: set more DRILL_SCHEDULES, or fewer DRILL_KILLS`,
    );
  for (const line of lines) say(line);
  for (const violation of violations.slice(0, 20)) say(`FAILED  ${violation}`);
  process.exitCode = violations.length === 0 ? 0 : 1;
} finally {
  for (const { stack, dataDir } of houses) {
    await stack.end("SIGKILL");
    rmSync(dataDir, { recursive: true, force: true });
  }
}
