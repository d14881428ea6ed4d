import type { Paint } from "../../cli/output/style.ts";
import { Carillon, isNotFound } from "../../client/main.ts";
import type { Clock } from "../../clock.ts";
import { errorText } from "../../log/error-text.ts";
import type { Log } from "../../log/log.ts";
import type { DataDir } from "../local/data-dir.ts";
import { setHandlers } from "../local/handlers/current-handlers.ts";
import type { OwnHandlers } from "../local/handlers/own-handlers.ts";
import { namesOf, watchHandlers } from "../local/handlers/watch-handlers.ts";
import type { Stack } from "../local/stack.ts";
import { banner } from "./banner.ts";
import type { DevSettings } from "./dev-settings.ts";
import { type JobFollower, jobFollower } from "./jobs/follow-jobs.ts";
import { clockTime, jobLines, rememberedTargets } from "./jobs/job-lines.ts";
import { targetText } from "./jobs/target-text.ts";
import { inFolder, loadFault } from "./load-fault.ts";
import { type LoadedHandlers, loadHandlers } from "./load-handlers.ts";
import { keepSchedules } from "./schedules/keep-schedules.ts";

export interface ProjectParts {
  settings: DevSettings;
  dataDir: DataDir;
  portsWhy: string | null;
  folder: string;
  paint: Paint;
  print(line: string): void;
  signal: AbortSignal;
  clock: Clock;
  log: Log;
}

/** Starts the stack with the project's handlers and schedules, and tells what happens. */
export async function runProject(parts: ProjectParts): Promise<Stack> {
  const { settings, dataDir, folder, paint, print, clock, log, signal } = parts;
  const own = await loadOwn(parts);
  // Only now: the functions import the handlers.
  const { startStack } = await import("../local/stack.ts");
  const clientAt = (url: string) => new Carillon({ url, token: settings.local.token ?? "", retries: 1 });
  let jobs: JobFollower | undefined;
  const answers = async (api: string) => {
    jobs = followerOf(parts, clientAt(api));
    await jobs.begin();
  };
  const stack = await startStack({ settings: settings.local, dataDir, answers, clock, log });
  const say = (who: string, text: string, fails = false) =>
    print(`${clockTime(clock.now())}  ${paint(who.padEnd(9), fails ? "red" : "blue")}  ${text}`);
  const client = clientAt(stack.urls.api);
  if (own !== null) watchOwn(own.handlers, stack, { folder, say });
  const schedules = await keepSchedules(
    { found: settings.schedules, folder, say },
    { client, clock, signal },
  );
  const found = { handlers: { found: settings.handlers, loaded: own?.loaded ?? [] } };
  const webhooks = settings.local.webhookAllow;
  const shownDir = inFolder(settings.local.dataDir, folder);
  const shown = { stack, folder, paint, webhooks, portsWhy: parts.portsWhy, dataDir: shownDir };
  for (const line of banner({
    ...shown,
    ...found,
    schedules: { found: settings.schedules, line: schedules.line },
  }))
    print(line);
  for (const fault of schedules.faults) say("schedules", fault, true);
  print("");
  void jobs?.follow();
  return stack;
}

async function loadOwn({ settings, dataDir, folder }: ProjectParts): Promise<LoadedHandlers | null> {
  if (settings.handlers === null) return null;
  try {
    const own = await loadHandlers(settings.handlers, folder);
    setHandlers(own.loaded);
    return own;
  } catch (error) {
    dataDir.release();
    throw error;
  }
}

type Say = (who: string, text: string, fails?: boolean) => void;

function watchOwn(own: OwnHandlers, stack: Stack, { folder, say }: { folder: string; say: Say }): void {
  watchHandlers(own, {
    renew: stack.renew,
    told: {
      reloaded: (handlers) => say("handlers", `loaded again: ${namesOf(handlers)}`),
      kept: (error) =>
        say("handlers", `the ones before stay: ${loadFault(error, { folder, files: own.files })}`, true),
      unwatched: (where, error) =>
        say("handlers", `changes in ${where} are not seen any more: ${error.message}`, true),
    },
  });
}

/** The newest versions among which the fields of a removed schedule are looked for. */
const versionsMax = 10;

function followerOf({ paint, print, clock, log, signal }: ProjectParts, client: Carillon): JobFollower {
  const read = async (key: string): Promise<string> => {
    try {
      return targetText((await client.schedules.get(key, { signal })).target);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      // A single job's schedule is removed soon after its end; its versions are kept.
      const versions = await client.schedules.versions(key, { signal }).take(versionsMax);
      return targetText(versions.find(({ spec }) => spec !== undefined)?.spec?.target ?? null);
    }
  };
  const lines = jobLines({ paint, now: clock.now, targetOf: rememberedTargets(read) });
  return jobFollower({
    client,
    clock,
    signal,
    ended: async (jobs, isCut) => {
      for (const line of await lines(jobs, isCut)) print(line);
    },
    failed: (error) => log.error("local.request-failed", { error: errorText(error) }),
  });
}
