import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Say } from "../report.ts";
import type { LoadOrder } from "./load-orders.ts";
import { type LoadedStack, loadedStack } from "./loaded-stack.ts";
import { putSteady } from "./steady-schedules.ts";

export const queueName = "load";
export const sliceMs = 5_000;

/**
 * How many times longer a put takes for a schedule that is due soon. The probe measures puts of
 * schedules that are due tomorrow.
 */
const soonFactor = 1.5;
const probesPerSecond = 10;
const startMs = 10_000;
const dayMs = 86_400_000;
/**
 * The first jobs of schedules that were put in bulk were made by the puts; after this time the
 * ticks make them.
 */
export const warmUpMs = 60_000;

/** The local stack on a temporary directory, which is deleted with it, or on the given one. */
export async function stackOnce(dataDir: string | undefined): Promise<LoadedStack> {
  const directory = dataDir ?? (await mkdtemp(path.join(tmpdir(), "carillon-load-")));
  const stack = await loadedStack(directory);
  return {
    ...stack,
    [Symbol.asyncDispose]: async () => {
      await stack[Symbol.asyncDispose]();
      if (dataDir === undefined) await rm(directory, { recursive: true, force: true });
    },
  };
}

/**
 * Puts schedules that make this many jobs a second for each target, and returns when the load on
 * top of them may begin.
 */
export async function putAll(
  stack: LoadedStack,
  groups: readonly { prefix: string; perSecond: number; target: object }[],
  say: Say,
): Promise<{ count: number; from: number }> {
  const startedAt = Date.now();
  const tomorrow = new Date(startedAt + dayMs);
  const probed = await putSteady(stack, {
    prefix: "probe",
    perSecond: probesPerSecond,
    from: tomorrow,
    target: { queue: queueName },
  });
  const wanted = groups.reduce((sum, { perSecond }) => sum + perSecond * 60, 0);
  const expectedMs = ((Date.now() - startedAt) / probed) * wanted * soonFactor;
  const from = new Date(Date.now() + startMs + expectedMs);
  let count = 0;
  for (const group of groups) count += await putSteady(stack, { ...group, from });
  const seconds = (Date.now() - startedAt) / 1_000;
  say(`${count.toLocaleString("en")} schedules put over HTTP in ${seconds.toFixed(1)} s`);
  return { count, from: Math.ceil((Math.max(from.getTime(), Date.now()) + warmUpMs) / sliceMs) * sliceMs };
}

/** The parts that all orders share. */
export function orderFor(
  { urls, token }: LoadedStack,
  rest: Pick<LoadOrder, "from" | "to" | "rates" | "standing" | "targets">,
): LoadOrder {
  return { ...urls, token, sliceMs, queues: [queueName, queueName, queueName], ...rest };
}

const settledPatienceMs = 60_000;

/**
 * Waits until all jobs that were due by then are settled, for at most a minute; the ledger's check
 * reports open ones.
 */
export async function settled({ sql, ended }: LoadedStack, to: Date): Promise<void> {
  for (const until = Date.now() + settledPatienceMs; Date.now() < until; ) {
    const [open] = await sql`
      select from carillon.jobs where kind = 'cadence' and state = 'waiting' and occurrence <= ${to} limit 1`;
    if (open === undefined) return;
    await Promise.race([new Promise((resolve) => setTimeout(resolve, 500)), ended]);
  }
}
