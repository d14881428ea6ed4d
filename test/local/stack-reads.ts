import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach } from "vitest";
import { z } from "zod";
import { until } from "../support/until.ts";
import { type StackProcess, startProcess } from "./local-stack.ts";

export const newFolder = () => mkdtempSync(path.join(tmpdir(), "carillon start "));

interface OwnStack {
  readonly dataDir: string;
  start(env?: Record<string, string>): Promise<StackProcess>;
}

/**
 * A data directory for each test. After the test its stacks are stopped, and the directory is
 * deleted.
 */
export function eachItsOwnStack(): OwnStack {
  let folder: string;
  let started: StackProcess[];
  beforeEach(() => {
    folder = newFolder();
    started = [];
  });
  afterEach(async () => {
    for (const stack of started) await stack.end("SIGTERM");
    rmSync(folder, { recursive: true, force: true });
  });
  const own: OwnStack = {
    get dataDir() {
      return path.join(folder, "data");
    },
    start: async (env) => {
      const stack = await startProcess(own.dataDir, env);
      started.push(stack);
      return stack;
    },
  };
  return own;
}

export const envelope = z.looseObject({
  id: z.string(),
  time: z.iso.datetime(),
  generatedat: z.iso.datetime(),
  data: z.unknown(),
});

const instant = z.iso.datetime().nullable();
const job = z.looseObject({ id: z.string(), dueAt: z.iso.datetime(), startedAt: instant, state: z.string() });

export async function jobsOf(from: StackProcess, key: string): Promise<z.infer<typeof job>[]> {
  const response = await from.request("GET", `/v1/schedules/${key}/jobs?limit=100`);
  return z.object({ items: z.array(job) }).parse(await response.json()).items;
}

/**
 * Waits until this many jobs of the schedule have succeeded, and returns the due times of all its
 * jobs in order.
 */
export function settled(from: StackProcess, key: string, count: number): Promise<number[]> {
  return until(`${count} jobs of ${key} have succeeded`, async () => {
    const jobs = await jobsOf(from, key);
    if (jobs.filter(({ state }) => state === "succeeded").length < count) return undefined;
    return jobs.map(({ dueAt }) => Date.parse(dueAt)).toSorted((one, other) => one - other);
  });
}

const stats = z.looseObject({
  asOf: z.iso.datetime(),
  plan: z.looseObject({ lastTickAt: z.iso.datetime().nullable() }),
});

/**
 * The time by the stack's own clock after its first tick: from then on jobs that are due soon do
 * not wait for a tick.
 */
export function timeAfterTick(from: StackProcess): Promise<number> {
  return until("the first tick is through", async () => {
    const { asOf, plan } = stats.parse(await (await from.request("GET", "/v1/stats")).json());
    return plan.lastTickAt !== null && Date.parse(asOf);
  });
}
