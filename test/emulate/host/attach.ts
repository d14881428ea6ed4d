import { randomUUID } from "node:crypto";
import { SQSClient } from "@aws-sdk/client-sqs";
import type { SQSEvent } from "aws-lambda";
import type { EmulatorEnvironment } from "../../../infra/tools/localstack/emulator.ts";
import type { Clock } from "../../../lib/clock.ts";
import { requestLimits } from "../../../lib/config/aws.ts";
import { errorText } from "../../../lib/log/error-text.ts";
import type { Log } from "../../../lib/log/log.ts";
import { secretVault } from "../../../lib/sealing/key-vault.ts";
import type { Closers } from "../../../lib/tools/local/closers.ts";
import { RunningHandlers } from "../../../lib/tools/local/handlers/running-handlers.ts";
import type { ScheduledEvent } from "../../../lib/tools/local/lambda/each-minute.ts";
import type { LocalFunction } from "../../../lib/tools/local/lambda/local-function.ts";
import { pollSeconds, startQueueSource } from "../../../lib/tools/local/lambda/queue-source.ts";
import { startHttp } from "../../../lib/tools/local/lambda/start-http.ts";
import { prepareEmbedded } from "../../../lib/tools/local/local-database.ts";
import { type LocalFunctions, localFunctions, localPage } from "../../../lib/tools/local/local-functions.ts";
import { readSettings } from "../../../lib/tools/local/settings.ts";
import { startOwnLambda } from "../../../lib/tools/local/stack.ts";
import type { Template } from "../gaps.ts";
import type { Stack } from "./deploy.ts";
import { feedsOf, localNameOf, queueIdsOf } from "./feeds.ts";
import type { RuleFeed } from "./without-lambda.ts";

export interface AttachParts {
  readonly emulator: EmulatorEnvironment;
  /** The whole template, with the event source mappings that LocalStack lacks. */
  readonly whole: Template;
  readonly ruleFeeds: readonly RuleFeed[];
  readonly stack: Stack;
  /** The address of Postgres. */
  readonly serverUrl: string;
  /** The admin token, from the deployed secret. */
  readonly token: string;
  /** The port to which the deployed API sends its requests. */
  readonly port: number;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Attached {
  /** The number of queues whose messages go to local functions. */
  readonly queues: number;
  /** Resolves when an event of a deployed rule has ended a tick. */
  readonly ticked: Promise<void>;
}

const functionsGraceMs = 1_500;
const httpGraceMs = 1_000;
/** SQS's limit for one receive call. */
const receivedMax = 10;

/** Migrates the database, and runs the local functions at the queues, the rule and the API of the deployed stack. */
export async function attach(parts: AttachParts, started: Closers): Promise<Attached> {
  const { emulator, whole, stack, token, port, clock, log } = parts;
  const settings = { ...readSettings({}), functionLog: "brief" } as const;
  const url = emulator.AWS_ENDPOINT_URL;
  const vault = secretVault(randomUUID());
  const { quotas, prefixWeights } = settings;
  const databases = await prepareEmbedded(parts.serverUrl, { token, vault, quotas, prefixWeights }, log);
  const lambda = await startOwnLambda({ settings, clock, log }, vault, started);
  const ids = queueIdsOf(whole);
  const functions = localFunctions({
    ...settings,
    running: new RunningHandlers(),
    databases,
    queueUrl: (name) => createdAt(stack, ids.get(name) ?? name),
    sqsUrl: url,
    eventsUrl: url,
    lambdaUrl: lambda.url,
    clock,
    log,
  });
  started.defer(() => Promise.all(Object.values(functions).map((each) => each.close(functionsGraceMs))));
  const page = localPage({ pageName: settings.pageName, clock, log });
  started.defer(() => page.close(0));
  const http = await startHttp({ port, api: functions.api, page, clock, log });
  started.defer(() => http.close(httpGraceMs));
  return connectQueues(parts, functions, started);
}

function connectQueues(parts: AttachParts, functions: LocalFunctions, started: Closers): Attached {
  const { emulator, whole, ruleFeeds, stack, clock, log } = parts;
  const sqs = new SQSClient({
    endpoint: emulator.AWS_ENDPOINT_URL,
    region: emulator.AWS_REGION,
    credentials: { accessKeyId: emulator.AWS_ACCESS_KEY_ID, secretAccessKey: emulator.AWS_SECRET_ACCESS_KEY },
    // A long poll answers after its wait even without messages, so the timeout must exceed the wait.
    requestHandler: requestLimits(2 * pollSeconds * 1_000),
  });
  started.defer(() => sqs.destroy());
  const connect = (queueId: string, batchSize: number, consumer: LocalFunction<SQSEvent, unknown>) => {
    const url = createdAt(stack, queueId);
    const queue = { name: url.split("/").at(-1) ?? "", url };
    const batchSizeMax = Math.min(batchSize, receivedMax);
    const source = startQueueSource({ sqs, queue, batchSizeMax, consumer, clock, log });
    started.defer(() => source.stop());
  };
  const feeds = feedsOf(whole);
  for (const { queueId, batchSize, consumer } of feeds) connect(queueId, batchSize, functions[consumer]);
  const { promise: ticked, resolve } = Promise.withResolvers<void>();
  for (const { functionId, queueId } of ruleFeeds) {
    if (localNameOf(functionId) !== "tick") throw new Error(`A rule invokes ${functionId}, not the tick.`);
    connect(queueId, 1, ofEvents(functions.tick, resolve, log));
  }
  return { queues: feeds.length + ruleFeeds.length, ticked };
}

/** The physical id of a queue is its address. */
function createdAt({ resources }: Stack, id: string): string {
  const url = resources.get(id)?.physicalId;
  if (url === undefined) throw new Error(`LocalStack has no queue ${id}.`);
  return url;
}

/**
 * The tick as the target of the rule's queue. As in AWS, a tick that fails is not retried: the next event of the rule
 * is its retry.
 */
function ofEvents(
  tick: LocalFunction<ScheduledEvent, unknown>,
  ended: () => void,
  log: Log,
): LocalFunction<SQSEvent, unknown> {
  return {
    ...tick,
    invoke: async ({ Records }) => {
      for (const { body } of Records) {
        try {
          await tick.invoke(JSON.parse(body));
          ended();
        } catch (error) {
          log.error("local.tick-failed", { error: errorText(error) });
        }
      }
      return { batchItemFailures: [] };
    },
  };
}
