import path from "node:path";
import type { APIGatewayProxyEventV2, SQSEvent } from "aws-lambda";
import { assemble as assembleApi } from "../../../functions/api.ts";
import { assemble as assembleIngest } from "../../../functions/ingest.ts";
import { type OwnHandlers, ownHandlers } from "../../../functions/own-handlers.ts";
import { assemble as assemblePage } from "../../../functions/page.ts";
import { assemble as assembleTick } from "../../../functions/tick.ts";
import { assemble as assembleWebhook } from "../../../functions/webhook.ts";
import { assemble as assembleWorker } from "../../../functions/worker.ts";
import type { Clock } from "../../clock.ts";
import type { Environment } from "../../config/environment.ts";
import { functionConnections } from "../../config/function-connections.ts";
import {
  ingestReceivesMax,
  ingestRetentionDays,
  functionTimeoutSeconds as limits,
  mayComeBack,
  receivesMax,
  targetWindow,
  visibilityInTimeouts,
} from "../../config/function-limits.ts";
import type { Log } from "../../log/log.ts";
import type { KeyVault } from "../../sealing/key-vault.ts";
import type { WebhookEvent } from "../../sealing/vault-request.ts";
import type { RunningHandlers } from "./handlers/running-handlers.ts";
import type { ScheduledEvent } from "./lambda/each-minute.ts";
import { type LocalFunction, localFunction } from "./lambda/local-function.ts";
import { functionsKeyId, localRegion } from "./local-account.ts";
import type { DatabaseUrls } from "./local-database.ts";
import { packageRoot } from "./package-root.ts";
import type { QueueSpec } from "./queue/start-queues.ts";
import type { LocalSettings } from "./settings.ts";

const deadNameOf = (name: string) => `${name}-dead`;

const ingestDeadName = deadNameOf("carillon-ingest");

export const jobQueues = {
  fast: jobQueue("carillon-fast", limits.fastWorker),
  slow: jobQueue("carillon-slow", limits.slowWorker),
} as const;

/** The queue that callers and rules send commands to. */
export const ingestQueue: QueueSpec = {
  name: "carillon-ingest",
  attributes: {
    VisibilityTimeout: String(visibilityInTimeouts * limits.ingest),
    MessageRetentionPeriod: String(ingestRetentionDays * 86_400),
  },
  deadLetters: { name: ingestDeadName, maxReceiveCount: ingestReceivesMax },
};

/** The queues of Carillon besides those of parcels: no target may name them. */
const reservedQueues = [
  ...Object.values(jobQueues).map(({ name }) => deadNameOf(name)),
  ingestQueue.name,
  ingestDeadName,
];

/**
 * Environments of each function. There are more workers than AWS's default, because they cost
 * nothing here. A message that an edit sends arrives up to a second before its parcel is ready, and
 * occupies its worker for that time: 50 schedules a second that are created seconds before they are
 * due occupy thirty workers.
 */
const concurrency = { api: 10, tick: 2, fast: 10, slow: 20, ingest: 2 };

/** The most database connections that all functions hold together. */
export const localConnectionsMax =
  concurrency.api * functionConnections.api +
  concurrency.tick * functionConnections.tick +
  concurrency.fast * functionConnections.worker +
  concurrency.slow * (functionConnections.worker + functionConnections.handlers) +
  concurrency.ingest * functionConnections.ingest;

function jobQueue(name: string, workerTimeoutSeconds: number): QueueSpec {
  return {
    name,
    attributes: {
      VisibilityTimeout: String(visibilityInTimeouts * workerTimeoutSeconds),
      MessageRetentionPeriod: "86400",
    },
    deadLetters: { name: deadNameOf(name), maxReceiveCount: receivesMax },
  };
}

export interface LocalFunctions {
  api: LocalFunction<APIGatewayProxyEventV2, unknown>;
  tick: LocalFunction<ScheduledEvent, unknown>;
  fastWorker: LocalFunction<SQSEvent, unknown>;
  slowWorker: LocalFunction<SQSEvent, unknown>;
  ingest: LocalFunction<SQSEvent, unknown>;
}

type OfSettings =
  | "databasePrepare"
  | "webhookAllow"
  | "webhookAdvice"
  | "eventSources"
  | "targetPrefixes"
  | "ingestPrefix"
  | "corsOrigins"
  | "lifecycle"
  | "functionLog";

export interface FunctionsParts extends Pick<LocalSettings, OfSettings> {
  databases: DatabaseUrls;
  queueUrl(name: string): string;
  sqsUrl: string;
  eventsUrl: string;
  lambdaUrl: string;
  running: RunningHandlers;
  clock: Clock;
  log: Log;
}

/** The deployed functions, each with the environment that the deployment would set. */
export function localFunctions(parts: FunctionsParts): LocalFunctions {
  const common = {
    FAST_QUEUE_URL: parts.queueUrl(jobQueues.fast.name),
    SLOW_QUEUE_URL: parts.queueUrl(jobQueues.slow.name),
    AWS_REGION: localRegion,
    AWS_ACCESS_KEY_ID: functionsKeyId,
    AWS_SECRET_ACCESS_KEY: functionsKeyId,
    AWS_ENDPOINT_URL_SQS: parts.sqsUrl,
    AWS_ENDPOINT_URL_EVENTBRIDGE: parts.eventsUrl,
    AWS_ENDPOINT_URL_LAMBDA: parts.lambdaUrl,
    CARILLON_LOG: parts.functionLog,
    DATABASE_PREPARE: parts.databasePrepare,
    CARILLON_TARGET_EVENT_SOURCES: parts.eventSources,
    TARGET_PREFIXES: parts.targetPrefixes.join("\n"),
    ...parts.lifecycle,
  };
  const as = (role: keyof DatabaseUrls): Environment => ({ ...common, DATABASE_URL: parts.databases[role] });
  const webhookAllow = webhookReach(parts);
  return {
    api: localFunction(
      {
        name: "api",
        assemble: assembleApi,
        env: {
          ...as("api"),
          ...webhookAllow,
          API_CORS_ORIGINS: parts.corsOrigins,
          API_REQUESTS_PER_PREFIX: String(concurrency.api / 2),
          WEBHOOK_FUNCTION: webhookFunctionName,
        },
        timeoutMs: seconds(limits.api),
        concurrency: concurrency.api,
      },
      parts,
    ),
    tick: localFunction(
      {
        name: "tick",
        assemble: assembleTick,
        env: { ...as("tick"), ...webhookAllow },
        timeoutMs: seconds(limits.tick),
        concurrency: concurrency.tick,
      },
      parts,
    ),
    fastWorker: localFunction(
      {
        name: "fast",
        assemble: assembleWorker,
        env: {
          ...as("worker"),
          RESERVED_QUEUE_URLS: reservedQueues.map((name) => parts.queueUrl(name)).join(" "),
        },
        timeoutMs: seconds(limits.fastWorker),
        mayComeBack: mayComeBack.has("fastWorker"),
        concurrency: concurrency.fast,
      },
      parts,
    ),
    slowWorker: localFunction(
      {
        name: "slow",
        assemble: (env) => assembleWorker(env, { own: countedHandlers(parts) }),
        env: {
          ...as("handler"),
          WEBHOOK_FUNCTION: webhookFunctionName,
          TARGET_WINDOW: String(targetWindow(concurrency.slow)),
        },
        timeoutMs: seconds(limits.slowWorker),
        mayComeBack: mayComeBack.has("slowWorker"),
        concurrency: concurrency.slow,
      },
      parts,
    ),
    ingest: localFunction(
      {
        name: "ingest",
        assemble: assembleIngest,
        env: {
          ...as("ingest"),
          ...webhookAllow,
          INGEST_QUEUE_URL: parts.queueUrl(ingestQueue.name),
          INGEST_DEAD_QUEUE_URL: parts.queueUrl(ingestDeadName),
          INGEST_PREFIX: parts.ingestPrefix,
        },
        timeoutMs: seconds(limits.ingest),
        mayComeBack: mayComeBack.has("ingest"),
        concurrency: concurrency.ingest,
      },
      parts,
    ),
  };
}

function countedHandlers({ running, log }: FunctionsParts): OwnHandlers {
  const own = ownHandlers(log);
  return { ...own, handlers: running.counted(own.handlers) };
}

/** The name by which the worker invokes it. */
export const webhookFunctionName = "carillon-webhook";

function webhookReach({
  webhookAllow,
  webhookAdvice,
}: Pick<FunctionsParts, "webhookAllow" | "webhookAdvice">): Environment {
  return { CARILLON_WEBHOOK_ALLOW: webhookAllow, CARILLON_WEBHOOK_ADVICE: webhookAdvice };
}

/** The function that serves the page: it has no database, no queue and no rights. */
export function localPage({
  pageName,
  clock,
  log,
}: Pick<FunctionsParts, "clock" | "log"> & { pageName: string }): LocalFunction<
  APIGatewayProxyEventV2,
  unknown
> {
  return localFunction(
    {
      name: "page",
      assemble: assemblePage,
      env: { PAGE_NAME: pageName, PAGE_DIRECTORY: path.join(packageRoot, "dist", "page") },
      timeoutMs: seconds(limits.page),
      concurrency: 10,
    },
    { clock, log },
  );
}

/** The function that sends webhooks: it has no database, no queue and no rights. */
export function localWebhook(
  parts: Pick<FunctionsParts, "webhookAllow" | "webhookAdvice" | "functionLog" | "clock" | "log"> & {
    vault: KeyVault;
  },
): LocalFunction<WebhookEvent, unknown> {
  return localFunction(
    {
      name: "webhook",
      assemble: (env) => assembleWebhook(env, parts),
      env: { ...webhookReach(parts), CARILLON_LOG: parts.functionLog },
      timeoutMs: seconds(limits.webhook),
      mayComeBack: mayComeBack.has("webhook"),
      concurrency: 100,
    },
    parts,
  );
}

function seconds(timeout: number): number {
  return timeout * 1_000;
}
