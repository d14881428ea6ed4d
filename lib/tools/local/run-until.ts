import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import type { Stack } from "./stack.ts";

export const exitCodes = { stopped: 0, failed: 1, portTaken: 2 } as const;
const stopPatienceMs = 4_700;

/** Waits for the signal or a broken stack, stops the stack, and returns the exit code. */
export async function runUntil(
  stopSignal: Promise<void>,
  stack: Pick<Stack, "broken" | "stop">,
  { clock, log }: { clock: Clock; log: Log },
): Promise<number> {
  const reason = await Promise.race([stack.broken, stopSignal]);
  if (reason !== undefined) log.error("local.broken", { reason });
  log.info("local.stopping");
  const overTime = clock.sleep(stopPatienceMs).then(() => "over time");
  if ((await Promise.race([stack.stop(), overTime])) === "over time") {
    log.warn("local.stop-cut");
    return exitCodes.failed;
  }
  return reason === undefined ? exitCodes.stopped : exitCodes.failed;
}
