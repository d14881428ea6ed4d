import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { systemClock } from "../../lib/clock.ts";
import { freeLoopbackPort } from "../../lib/tools/local/free-port.ts";

/** The version that the page was made with; other versions may have other gaps. */
export const pinned = "ministack==1.5.33";
const program = process.env["CARILLON_EMULATOR"] ?? "ministack";

/** The output where the program is missing. */
export const notInstalled = `Nothing was tried: ministack is not installed. docs/localstack.md#another-emulator-without-docker says how to install ${pinned}; or name its program in CARILLON_EMULATOR.`;

const STARTS_MS_MAX = 60_000;
const LOOK_AGAIN_MS = 200;

export interface EmulatorProcess {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * A new, empty emulator; undefined when the program is not installed. It runs functions with the
 * `node` of the PATH.
 */
export async function startEmulator(): Promise<EmulatorProcess | undefined> {
  const port = await freeLoopbackPort();
  // The emulator passes its own AWS_ENDPOINT_URL on to functions, so another emulator's must not be
  // inherited.
  const { AWS_ENDPOINT_URL: _, ...env } = process.env;
  const child = spawn(program, [], {
    env: { ...env, GATEWAY_PORT: String(port) },
    stdio: "ignore",
    detached: true,
  });
  const isStarted = await new Promise<boolean>((resolve) => {
    child.once("spawn", () => resolve(true));
    child.once("error", () => resolve(false));
  });
  if (!isStarted) return undefined;
  const exited = once(child, "exit");
  const group = groupOf(child);
  const url = `http://127.0.0.1:${port}`;
  const until = Date.now() + STARTS_MS_MAX;
  while (!(await answers(`${url}/_ministack/health`))) {
    if (child.exitCode !== null || Date.now() > until) {
      group.end();
      throw new Error(`${program} does not answer at ${url}.`);
    }
    await systemClock.sleep(LOOK_AGAIN_MS);
  }
  return {
    url,
    async stop() {
      child.kill("SIGTERM");
      const late = setTimeout(() => child.kill("SIGKILL"), 10_000);
      await exited;
      clearTimeout(late);
      group.end();
    },
  };
}

/**
 * The emulator with the functions that it started. They are a group of their own, which an interrupt of the
 * terminal does not reach: it is ended before this process goes.
 */
function groupOf({ pid }: ChildProcess): { end(): void } {
  const kill = () => {
    try {
      if (pid !== undefined) process.kill(-pid, "SIGKILL");
    } catch {
      // The group is empty: its last process has ended.
    }
  };
  const interrupted = () => process.exit(1);
  const signals = ["SIGINT", "SIGTERM"] as const;
  process.once("exit", kill);
  for (const signal of signals) process.once(signal, interrupted);
  return {
    end() {
      kill();
      process.off("exit", kill);
      for (const signal of signals) process.off(signal, interrupted);
    },
  };
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}
