import type { APIGatewayProxyEventV2, SQSEvent } from "aws-lambda";
import { assemble as assembleApi } from "../../functions/api.ts";
import { assemble as assembleTick } from "../../functions/tick.ts";
import { assemble as assembleWorker } from "../../functions/worker.ts";
import type { Clock } from "../clock.ts";
import type { Environment } from "../config/environment.ts";
import {
  functionTimeoutSeconds as limits,
  receivesMax,
  visibilityInTimeouts,
} from "../config/function-limits.ts";
import type { Log } from "../log/log.ts";
import type { ScheduledEvent } from "./lambda/each-minute.ts";
import { type LocalFunction, localFunction } from "./lambda/local-function.ts";
import { functionsKeyId, localRegion } from "./local-account.ts";
import type { DatabaseUrls } from "./local-database.ts";
import type { QueueSpec } from "./queue/start-queues.ts";

export const jobQueues = {
  fast: jobQueue("carillon-fast", limits.fastWorker),
  slow: jobQueue("carillon-slow", limits.slowWorker),
} as const;

function jobQueue(name: string, workerTimeoutSeconds: number): QueueSpec {
  return {
    name,
    attributes: {
      VisibilityTimeout: String(visibilityInTimeouts * workerTimeoutSeconds),
      MessageRetentionPeriod: "86400",
    },
    deadLetters: { name: `${name}-dead`, maxReceiveCount: receivesMax },
  };
}

export interface LocalFunctions {
  api: LocalFunction<APIGatewayProxyEventV2, unknown>;
  tick: LocalFunction<ScheduledEvent, unknown>;
  fastWorker: LocalFunction<SQSEvent, unknown>;
  slowWorker: LocalFunction<SQSEvent, unknown>;
}

export interface FunctionsParts {
  databases: DatabaseUrls;
  queueUrl(name: string): string;
  sqsUrl: string;
  eventsUrl: string;
  webhookAllow: string | undefined;
  clock: Clock;
  log: Log;
}

/** The functions that are deployed, each with the environment that the deployment would give it. */
export function localFunctions(parts: FunctionsParts): LocalFunctions {
  const common = {
    FAST_QUEUE_URL: parts.queueUrl(jobQueues.fast.name),
    SLOW_QUEUE_URL: parts.queueUrl(jobQueues.slow.name),
    AWS_REGION: localRegion,
    AWS_ACCESS_KEY_ID: functionsKeyId,
    AWS_SECRET_ACCESS_KEY: functionsKeyId,
    AWS_ENDPOINT_URL_SQS: parts.sqsUrl,
    AWS_ENDPOINT_URL_EVENTBRIDGE: parts.eventsUrl,
    CARILLON_LOG: "text",
  };
  const as = (role: keyof DatabaseUrls): Environment => ({ ...common, DATABASE_URL: parts.databases[role] });
  const worker = { ...as("worker"), CARILLON_WEBHOOK_ALLOW: parts.webhookAllow };
  const seconds = (timeout: number) => timeout * 1_000;
  return {
    api: localFunction(
      { name: "api", assemble: assembleApi, env: as("api"), timeoutMs: seconds(limits.api), concurrency: 10 },
      parts,
    ),
    tick: localFunction(
      {
        name: "tick",
        assemble: assembleTick,
        env: as("tick"),
        timeoutMs: seconds(limits.tick),
        concurrency: 2,
      },
      parts,
    ),
    fastWorker: localFunction(
      {
        name: "fast",
        assemble: assembleWorker,
        env: worker,
        timeoutMs: seconds(limits.fastWorker),
        concurrency: 4,
      },
      parts,
    ),
    slowWorker: localFunction(
      {
        name: "slow",
        assemble: assembleWorker,
        env: worker,
        timeoutMs: seconds(limits.slowWorker),
        concurrency: 10,
      },
      parts,
    ),
  };
}
