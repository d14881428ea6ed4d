import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { withoutVitest } from "./previous-code.ts";

/** The functions that a deployment replaces, and that send each other messages. */
export const functionNames = ["api", "tick", "fast", "slow", "ingest", "webhook", "stack"] as const;
export type FunctionName = (typeof functionNames)[number];

export interface HostSettings {
  environments: Readonly<Record<FunctionName, { file: string; env: Readonly<Record<string, string>> }>>;
  /** The secret of the vault. */
  secret: string;
  /** The time that each invocation has. */
  remainingMs: number;
}

/** A message to the host: an invocation. */
export interface Asked {
  call: number;
  name: FunctionName;
  event: unknown;
}

export type Answered = { call: number; result: unknown } | { call: number; error: string };

/** The functions of one release, in a process of their own. */
export interface HostedRelease {
  /** Rejects with the error of the function. */
  invoke(name: FunctionName, event: unknown): Promise<unknown>;
  stop(): Promise<void>;
}

const host = fileURLToPath(new URL("function-host.ts", import.meta.url));

export function hostRelease(folder: string, settings: HostSettings): HostedRelease {
  const child = fork(host, [folder, JSON.stringify(settings)], {
    cwd: folder,
    env: withoutVitest(),
    execArgv: [],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let calls = 0;
  child.on("message", (answered: Answered) => {
    const own = waiting.get(answered.call);
    waiting.delete(answered.call);
    if ("error" in answered) own?.reject(new Error(answered.error));
    else own?.resolve(answered.result);
  });
  child.on("exit", (code, signal) => {
    for (const each of waiting.values()) each.reject(new Error(`The host ended with ${code ?? signal}.`));
  });
  return {
    invoke: (name, event) => {
      const call = calls++;
      const own = Promise.withResolvers<unknown>();
      waiting.set(call, own);
      child.send({ call, name, event } satisfies Asked);
      return own.promise;
    },
    stop: () => stop(child),
  };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.disconnect();
  await exited;
}
