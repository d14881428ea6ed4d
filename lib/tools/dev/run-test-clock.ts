import type { Log } from "../../log/log.ts";
import type { DevSettings } from "./dev-settings.ts";
import { loadHandlers } from "./load-handlers.ts";

export interface RunningTestClock {
  broken: Promise<string>;
  stop(): Promise<void>;
}

/** Serves the test kit, with the handlers of the project, in place of the stack. */
export async function runTestClock(
  settings: DevSettings & { testClock: string },
  { port, folder, log }: { port: number; folder: string; log: Log },
): Promise<RunningTestClock> {
  const own = settings.handlers === null ? null : await loadHandlers(settings.handlers, folder);
  // Only now: the functions import the handlers.
  const { startTestClock } = await import("../testing/http/start-test-clock.ts");
  const { token, webhookAllow, eventSources, targetPrefixes, hosts, pageName } = settings.local;
  const now = settings.testClock;
  const stack = await startTestClock({
    port,
    now,
    token,
    webhookAllow,
    hosts,
    eventSources,
    targetPrefixes,
    pageName,
    handlers: own?.loaded ?? [],
    log,
  });
  process.stdout.write(`carillon ready api=${stack.url} clock=${now}\n`);
  process.stdout.write(`The page: ${stack.signIn}\n`);
  return { broken: new Promise(() => {}), stop: stack.stop };
}
