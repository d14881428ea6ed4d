import type { JobHandler } from "../../job/define-job.ts";
import type { Log } from "../../log/log.ts";
import { ownHandlers } from "../local/handlers/own-handlers.ts";
import type { DevSettings } from "./dev-settings.ts";
import { loadFault } from "./load-fault.ts";

export interface RunningTestClock {
  broken: Promise<string>;
  stop(): Promise<void>;
}

/** Serves the test kit, with the handlers of the project, in place of the stack. */
export async function runTestClock(
  settings: DevSettings & { testClock: string },
  { port, folder, log }: { port: number; folder: string; log: Log },
): Promise<RunningTestClock> {
  const handlers = await loaded(settings, folder);
  // Only now: the functions import the handlers.
  const { startTestClock } = await import("../testing/http/start-test-clock.ts");
  const { token, webhookAllow, pageName } = settings.local;
  const now = settings.testClock;
  const stack = await startTestClock({ port, now, token, webhookAllow, pageName, handlers, log });
  process.stdout.write(`carillon ready api=${stack.url} clock=${now}\n`);
  process.stdout.write(`The page: ${stack.signIn}\n`);
  return { broken: new Promise(() => {}), stop: stack.stop };
}

async function loaded({ handlers }: DevSettings, folder: string): Promise<readonly JobHandler[]> {
  if (handlers === null) return [];
  const own = ownHandlers(handlers.file);
  try {
    return await own.load();
  } catch (error) {
    throw new Error(`The handlers cannot be loaded: ${loadFault(error, { folder, files: own.files })}`, {
      cause: error,
    });
  }
}
