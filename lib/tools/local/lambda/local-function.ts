import { randomUUID } from "node:crypto";
import type { Clock } from "../../../clock.ts";
import type { Environment } from "../../../config/environment.ts";
import type { Assemble, Assembled, Invocation } from "../../../config/function.ts";
import { errorText } from "../../../log/error-text.ts";
import type { Log } from "../../../log/log.ts";
import { inChain } from "./chain.ts";
import { environmentPool } from "./environment-pool.ts";

/**
 * A function as Lambda runs it: each environment is created once and serves one event at a time.
 */
export interface LocalFunction<Event, Result> {
  readonly name: string;
  /** How many events are served at once; further events wait. */
  readonly concurrency: number;
  /**
   * Rejects with the handler's error, with TimedOut, or with ChainEnded. While the event waits for an environment, the
   * signal withdraws it.
   */
  invoke(event: Event, signal?: AbortSignal): Promise<Result>;
  /** Assembles the function again for later events, as a deployment of new code does. */
  renew(): void;
  /** Waits up to `graceMs` for invocations under way, then closes every environment. */
  close(graceMs: number): Promise<void>;
}

export interface FunctionSpec<Event, Result> {
  name: string;
  assemble: Assemble<Event, Result>;
  env: Environment;
  timeoutMs: number;
  concurrency: number;
  /** Whether one event may lead back to the function any number of times. Default: no. */
  mayComeBack?: boolean;
}

export class TimedOut extends Error {
  override readonly name = "TimedOut";

  constructor(functionName: string, timeoutMs: number) {
    super(`The function ${functionName} did not answer within ${timeoutMs / 1_000} s.`);
  }
}

export function localFunction<Event, Result>(
  spec: FunctionSpec<Event, Result>,
  { clock, log }: { clock: Clock; log: Log },
): LocalFunction<Event, Result> {
  const end = async (own: Assembled<Event, Result>) => {
    try {
      await own.close();
    } catch (error) {
      log.warn("local.close-failed", { function: spec.name, error: errorText(error) });
    }
  };
  const environments = environmentPool(spec.concurrency, () => spec.assemble(spec.env), end);
  const underWay = new Set<Promise<unknown>>();

  const { name, mayComeBack = false } = spec;
  const run = async (event: Event, signal: AbortSignal | undefined): Promise<Result> => {
    const own = await environments.take(signal);
    const outcome = await outcomeWithin(spec.timeoutMs, clock, (invocation) =>
      inChain({ name, mayComeBack }, () => own.handler(event, invocation)),
    );
    if (outcome === "over time") {
      // Lambda kills such an environment. Here it is closed while its handler may still run, and is
      // not used again.
      environments.discard(own);
      throw new TimedOut(spec.name, spec.timeoutMs);
    }
    environments.giveBack(own);
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  };

  return {
    name: spec.name,
    concurrency: spec.concurrency,
    invoke: (event, signal) => {
      const invocation = run(event, signal);
      const ended: Promise<void> = invocation.then(
        () => void underWay.delete(ended),
        () => void underWay.delete(ended),
      );
      underWay.add(ended);
      return invocation;
    },
    renew: () => environments.renew(),
    close: async (graceMs) => {
      const allDone = new AbortController();
      await Promise.race([Promise.all(underWay), clock.sleep(graceMs, allDone.signal)]);
      allDone.abort();
      await environments.close();
    },
  };
}

async function outcomeWithin<Result>(
  timeoutMs: number,
  clock: Clock,
  handle: (invocation: Invocation) => Promise<Result>,
): Promise<PromiseSettledResult<Result> | "over time"> {
  const deadline = clock.now().getTime() + timeoutMs;
  const invocation = {
    awsRequestId: randomUUID(),
    getRemainingTimeInMillis: () => Math.max(0, deadline - clock.now().getTime()),
  };
  const answered = new AbortController();
  const answer = async (): Promise<PromiseSettledResult<Result>> => {
    try {
      return { status: "fulfilled", value: await handle(invocation) };
    } catch (reason) {
      return { status: "rejected", reason };
    }
  };
  const overTime = async () => {
    await clock.sleep(timeoutMs, answered.signal);
    return "over time" as const;
  };
  const outcome = await Promise.race([answer(), overTime()]);
  answered.abort();
  return outcome;
}
