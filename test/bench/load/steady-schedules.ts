import * as z from "zod";
import { type HttpCaller, httpCaller } from "./http-caller.ts";
import type { LoadedStack } from "./loaded-stack.ts";

export interface SteadySchedules {
  prefix: string;
  /** Jobs a second of all schedules together, evenly. */
  perSecond: number;
  /** The first occurrence. */
  from: Date;
  target: object;
}

const batchMax = 500;
const triesMax = 5;
const pauseMs = 1_000;
const periodSeconds = 60;
const answers = z.object({ results: z.array(z.object({ status: z.int() })) });

/**
 * Minutely schedules with first occurrences spread evenly over a minute, so that the same number is
 * due each second.
 */
export async function putSteady(
  { urls, token }: Pick<LoadedStack, "urls" | "token">,
  steady: SteadySchedules,
): Promise<number> {
  const count = steady.perSecond * periodSeconds;
  const caller = httpCaller(urls.api, token, 1);
  try {
    for (let from = 0; from < count; from += batchMax) {
      const size = Math.min(batchMax, count - from);
      await putBatch(
        caller,
        Array.from({ length: size }, (_, n) => ({ put: steadyBody(steady, from + n) })),
      );
    }
  } finally {
    caller.close();
  }
  return count;
}

/**
 * A batch gives way to a tick that waits for its locks and is then repeated; putting the same
 * schedules again changes nothing.
 */
async function putBatch({ call }: HttpCaller, operations: readonly object[]): Promise<void> {
  for (let tried = 1; ; tried++) {
    const { status, body } = await call("POST", "/v1/schedules:batch", { operations });
    if (status === 503 && tried < triesMax) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      continue;
    }
    if (status !== 200) throw new Error(`A batch of schedules was answered ${status}: ${body}`);
    const refused = answers.parse(JSON.parse(body)).results.find((each) => each.status > 201);
    if (refused === undefined) return;
    throw new Error(`A schedule of a batch was answered ${refused.status}: ${body.slice(0, 500)}`);
  }
}

export function steadyKey(prefix: string, n: number): string {
  return `${prefix}:${n}`;
}

/** A payload for the handler that only greets, or for a queue, which takes any. */
export function payloadFor(target: object | undefined, n: number): object {
  return target !== undefined && "handler" in target ? { name: String(n) } : { n };
}

function steadyBody({ prefix, perSecond, from, target }: SteadySchedules, n: number): object {
  const startsAt = new Date(from.getTime() + Math.floor((n * 1_000) / perSecond));
  return {
    key: steadyKey(prefix, n),
    when: `every ${periodSeconds}s`,
    startsAt,
    target,
    payload: payloadFor(target, n),
  };
}
