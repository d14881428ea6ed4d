import { randomUUID } from "node:crypto";
import type { EventBridgeEvent } from "aws-lambda";
import type { Clock } from "../../../clock.ts";
import { errorText } from "../../../log/error-text.ts";
import type { Log } from "../../../log/log.ts";
import { localAccount, localRegion } from "../local-account.ts";
import type { LocalFunction } from "./local-function.ts";

export type ScheduledEvent = EventBridgeEvent<"Scheduled Event", Record<string, never>>;

export interface MinuteRule {
  stop(): Promise<void>;
}

const minuteMs = 60_000;

/**
 * A rule with `rate(1 minute)`: invokes the function at once and then at each full minute, even
 * while an earlier invocation runs. An invocation is dropped when every environment is busy; the
 * next minute is its retry.
 */
export function eachMinute(
  tick: LocalFunction<ScheduledEvent, unknown>,
  { clock, log }: { clock: Clock; log: Log },
): MinuteRule {
  const stopping = new AbortController();
  let underWay = 0;
  const fire = async () => {
    if (underWay >= tick.concurrency) return log.warn("local.tick-dropped");
    underWay++;
    try {
      await tick.invoke(scheduledEvent(clock.now()));
    } catch (error) {
      log.error("local.tick-failed", { error: errorText(error) });
    } finally {
      underWay--;
    }
  };
  const run = async () => {
    while (!stopping.signal.aborted) {
      void fire();
      const now = clock.now().getTime();
      // A timer may fire slightly early; the same minute must not be served twice.
      const next = Math.floor(now / minuteMs + 1) * minuteMs;
      while (clock.now().getTime() < next && !stopping.signal.aborted) {
        await clock.sleep(next - clock.now().getTime(), stopping.signal);
      }
    }
  };
  const stopped = run();
  return {
    stop: () => {
      stopping.abort();
      return stopped;
    },
  };
}

function scheduledEvent(now: Date): ScheduledEvent {
  return {
    version: "0",
    id: randomUUID(),
    "detail-type": "Scheduled Event",
    source: "aws.events",
    account: localAccount,
    time: `${now.toISOString().slice(0, 19)}Z`,
    region: localRegion,
    resources: [`arn:aws:events:${localRegion}:${localAccount}:rule/carillon-tick`],
    detail: {},
  };
}
