import { Carillon } from "../../client/main.ts";
import { acceptanceOf } from "../../command/acceptance.ts";
import { allowedTargetsFrom } from "../../command/allowed-targets.ts";
import type { Environment } from "../../config/environment.ts";
import { targetWindow } from "../../config/function-limits.ts";
import type { Sql } from "../../db/connect.ts";
import type { JobHandler } from "../../job/define-job.ts";
import type { Log } from "../../log/log.ts";
import { ensureSealingKey } from "../../sealing/first-key.ts";
import { secretVault } from "../../sealing/key-vault.ts";
import { OpenedKeys } from "../../sealing/open-credentials.ts";
import type { Deliver } from "../../target/delivery.ts";
import type { TickDeps, TickSettings } from "../../tick/run.ts";
import { tickDefaults } from "../../tick/tick.ts";
import { ensureAdminToken } from "../../token/token.ts";
import { reachFrom } from "../../webhook/reach.ts";
import { localRegion } from "../local/local-account.ts";
import { Activity } from "./activity.ts";
import { allowedWebhooks } from "./allowed-webhooks.ts";
import { apiFetch, apiUrl } from "./api-fetch.ts";
import { countedSql } from "./counted-sql.ts";
import { type Captured, captured, type TakeTime } from "./deliveries.ts";
import { Invocations, workerClock } from "./invocations.ts";
import { type MemoryQueue, memoryQueue } from "./memory-queue.ts";
import { type DatabaseClock, databaseClock } from "./virtual-clock.ts";

/** The functions of Carillon in one process, over one database, on a clock that only a test moves. */
export interface World {
  sql: Sql;
  clock: DatabaseClock;
  queue: MemoryQueue;
  captured: Captured;
  activity: Activity;
  client: Carillon;
  connection: { url: string; token: string; fetch: typeof globalThis.fetch };
  invocations: Invocations;
  tick: { deps: TickDeps; settings: TickSettings };
  /** Set by whatever may have changed when a tick is needed next. */
  isStirred: boolean;
  stop(): Promise<void>;
}

export interface WorldParts {
  databaseUrl: string;
  start: Date;
  handlers: readonly JobHandler[];
  log: Log;
  /** The admin token. */
  token: string;
  /** The private addresses that webhooks reach for real. */
  webhookAllow: string | undefined;
  /** The sources of events that schedules may use. */
  eventSources: string | undefined;
  /** The targets that are kept for schedules with some keys. */
  targetPrefixes: readonly string[];
  /** How long the target of a schedule takes, on the virtual clock. */
  takesMs: (key: string) => number;
  /** Comes between the workers and their targets. */
  around: (deliver: Deliver, world: { clock: DatabaseClock; sql: Sql }) => Deliver;
  /** Called after each change through the API. */
  edited: () => Promise<void>;
}

const concurrency = { fast: 10, slow: 20 };
/** One for each worker that may hold a transaction, and some for the others. */
const connectionsMax = concurrency.slow + 4;
/** An open connection holds the process of a test that forgets to stop. Runners wait about a second. */
const idleMs = 200;

export async function makeWorld(parts: WorldParts): Promise<World> {
  // Imported this late, because the functions wait for the module of the handlers: a module that
  // waits cannot be loaded by `require`, and so not by tests in CommonJS.
  const { assemble: assembleApi } = await import("../../../functions/api.ts");
  const { assemble: assembleWorker } = await import("../../../functions/worker.ts");
  const { log, token, webhookAllow, eventSources, targetPrefixes } = parts;
  const env = {
    AWS_REGION: localRegion,
    CARILLON_LOG: "text",
    CARILLON_WEBHOOK_ALLOW: webhookAllow,
    CARILLON_TARGET_EVENT_SOURCES: eventSources,
    TARGET_PREFIXES: targetPrefixes.join("\n"),
  };
  const activity = new Activity();
  const connections = { max: connectionsMax, idleMs, applicationName: "carillon-test" };
  const sql = countedSql(parts.databaseUrl, activity, connections);
  const clock = await databaseClock(sql, parts.start);
  await ensureAdminToken(sql, token);
  const vault = secretVault(token);
  await ensureSealingKey(sql, vault, "carillon");
  const queue = memoryQueue(clock, log);
  // Jobs that are made a day ahead get their messages at once: see advance.ts.
  queue.delayMaxMs = 2 * 86_400_000;
  const forWorkers = workerClock(clock);
  const takeTime: TakeTime = async (key) => {
    const ms = parts.takesMs(key);
    if (ms > 0) await forWorkers.sleep(ms);
  };
  const send = webhookAllow === undefined ? undefined : allowedWebhooks(reachFrom(env), activity, log);
  const targets = captured({ clock, queue, takeTime, send, opened: new OpenedKeys(vault) });
  const own = {
    handlers: parts.handlers.map((each) => counted(each, activity, takeTime)),
    handlersFault: undefined,
  };

  const api = assembleApi(env, { clock, log, sql, queue, own });
  const callApi = apiFetch(api, clock);
  const connection = {
    url: apiUrl,
    token,
    fetch: async (...[input, init]: Parameters<typeof globalThis.fetch>) => {
      const request = new Request(input, init);
      const answer = await activity.during(() => callApi(request));
      if (request.method === "GET") return answer;
      world.isStirred = true;
      await parts.edited();
      return answer;
    },
  };
  const worker = (workerEnv: Environment) =>
    assembleWorker(workerEnv, {
      clock: forWorkers,
      log,
      sql,
      transactions: sql,
      queue,
      events: targets.events,
      lambda: targets.lambda,
      own,
      sendWebhook: targets.sendWebhook,
      // The whole backoff: without jitter, a retry comes at the same instant in each run.
      random: () => 1,
      around: (deliver) => parts.around(deliver, { clock, sql }),
    });
  const workers = {
    fast: worker(env),
    slow: worker({ ...env, TARGET_WINDOW: String(targetWindow(concurrency.slow)) }),
  };
  const world: World = {
    sql,
    clock,
    queue,
    captured: targets,
    activity,
    // A retry would wait in real time.
    client: new Carillon({ ...connection, retries: 0 }),
    connection,
    invocations: new Invocations({ clock, queue, activity, log, workers, concurrency }),
    tick: {
      deps: {
        sql,
        queue,
        log,
        bus: { events: targets.events, bus: "default" },
        acceptance: acceptanceOf({ ...own, targets: allowedTargetsFrom(env) }),
      },
      settings: tickDefaults,
    },
    isStirred: true,
    stop: async () => {
      queue.sqs.destroy();
      await sql.end();
    },
  };
  return world;
}

/** The handler counts as under way while its code runs, and not while it waits for the clock. */
function counted(handler: JobHandler, activity: Activity, takeTime: TakeTime): JobHandler {
  return {
    ...handler,
    run: async (jobs, context) => {
      for (const { key } of jobs) await takeTime(key);
      return activity.during(() => handler.run(jobs, context), `the handler ${handler.name}`);
    },
  };
}
