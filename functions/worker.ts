import { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import { LambdaClient } from "@aws-sdk/client-lambda";
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { canaryHandler } from "../lib/canary/canary-handler.ts";
import { type AlarmClock, systemClock } from "../lib/clock.ts";
import { awsClientSettings, withoutSdkLog } from "../lib/config/aws.ts";
import { endedWhenBlocked } from "../lib/config/blocked-process.ts";
import { type Environment, integer, required } from "../lib/config/environment.ts";
import { type Assembled, onDemand } from "../lib/config/function.ts";
import { answerMs, functionConnections, transactionMs } from "../lib/config/function-connections.ts";
import { lifecycleFrom } from "../lib/config/lifecycle.ts";
import { logFrom } from "../lib/config/log-from.ts";
import { metricsFrom } from "../lib/config/metrics-from.ts";
import { eventSourcesFrom, type TargetPrefix, targetPrefixesFrom } from "../lib/config/target-settings.ts";
import { connect, type Sql } from "../lib/db/connect.ts";
import { applyWantedHolds } from "../lib/edit/wanted-holds.ts";
import { parcelEvents } from "../lib/lifecycle/parcel-events.ts";
import { definedOnce } from "../lib/limit/define-limits.ts";
import type { Log } from "../lib/log/log.ts";
import { type Metrics, noMetrics } from "../lib/log/metrics.ts";
import type { ParcelQueue } from "../lib/parcel/parcel-queue.ts";
import { parcelQueueFrom } from "../lib/parcel/parcel-queue-from.ts";
import type { Notify } from "../lib/parcel/settle.ts";
import { pulseTargets } from "../lib/pulse/pulse-targets.ts";
import { rememberedKeys } from "../lib/sealing/sealing-keys.ts";
import { deliverTo } from "../lib/target/deliver.ts";
import type { Deliver } from "../lib/target/delivery.ts";
import { eventTarget } from "../lib/target/event-target.ts";
import { handlerTarget } from "../lib/target/handler/handler-target.ts";
import { callLimits } from "../lib/target/invoke-function.ts";
import { lambdaTarget } from "../lib/target/lambda-target.ts";
import { eventSender } from "../lib/target/put-events.ts";
import { queueTarget } from "../lib/target/queue-target.ts";
import { messageSender } from "../lib/target/send-messages.ts";
import { pulseSender } from "../lib/target/send-pulses.ts";
import { webhookFunction } from "../lib/target/webhook-function.ts";
import { type SendWebhook, webhookTarget } from "../lib/target/webhook-target.ts";
import { workMessages } from "../lib/worker/worker.ts";
import { type OwnHandlers, ownHandlers } from "./own-handlers.ts";

/** The parts that a test replaces. */
export interface WorkerParts {
  clock: AlarmClock;
  log: Log;
  /** For the worker's own statements. */
  sql: Sql;
  /**
   * For the transactions of handlers. Separate, so that a handler with an open transaction does not
   * stop the renewal of leases. Prepared plans are not kept, because migrations that Carillon does
   * not know change the handler's tables. There is no statement timeout; the job's `timeout` ends a
   * statement.
   */
  transactions: Sql;
  queue: ParcelQueue;
  events: EventBridgeClient;
  lambda: LambdaClient;
  own: OwnHandlers;
  sendWebhook: SendWebhook;
  random: () => number;
  /** Comes between the worker and its targets. */
  around: (deliver: Deliver) => Deliver;
}

export function assemble(
  env: Environment,
  replaced: Partial<WorkerParts> = {},
): Assembled<SQSEvent, SQSBatchResponse> {
  const metrics = metricsFrom(env, "worker");
  const parts = partsFrom(env, replaced);
  const { clock, log, sql, queue, events, own } = parts;
  const { notify, bus } = lifecycleFrom(env);
  const queues = { sqs: queue.sqs, ownUrls: ownQueueUrls(env, queue), clock };
  const buses = { events, clock, sources: eventSourcesFrom(env) };
  const prefixes = targetPrefixesFrom(env);
  const deps = {
    sql,
    log,
    clock,
    deliver: parts.around(deliverToTargets(parts, { queues, buses, metrics, notify, prefixes })),
    queue,
    random: parts.random,
    notify,
    events: parcelEvents({ sql, events, bus, log }, notify),
    holdWanted: (only: readonly string[]) => applyWantedHolds({ sql, queue, log }, { only }),
    window: targetWindowFrom(env),
    pulses: {
      send: pulseSender({ send: messageSender(queues), put: eventSender(buses) }),
      targets: pulseTargets(sql),
      prefixes,
    },
    metrics: metrics === noMetrics ? undefined : metrics,
  };
  // Only the worker that runs handlers has `TARGET_WINDOW`, and only it stores the limits that
  // handlers define.
  const limitsDefined = deps.window === null ? async () => {} : definedOnce(sql, log, own);
  return {
    handler: async (event, invocation) => {
      await limitsDefined();
      return workMessages(deps, event.Records, () => invocation.getRemainingTimeInMillis());
    },
    close: async () => {
      queue.sqs.destroy();
      events.destroy();
      parts.lambda.destroy();
      await Promise.all([sql.end(), parts.transactions.end()]);
    },
  };
}

/** The given parts, and the others made from the environment. */
function partsFrom(env: Environment, given: Partial<WorkerParts>): WorkerParts {
  const { log = logFrom(env, "worker") } = given;
  // The ledger retries and counts attempts, so the SDK must not retry.
  const {
    lambda = new LambdaClient({ ...awsClientSettings(env, "LAMBDA", callLimits), maxAttempts: 1 }),
    events = withoutSdkLog(new EventBridgeClient(awsClientSettings(env, "EVENTBRIDGE"))),
    queue = parcelQueueFrom(env, log),
    own = ownHandlers(log),
    sql = connect(env, {
      max: functionConnections.worker,
      applicationName: "carillon-worker",
      answerMs: answerMs.others,
      transactionMs: transactionMs.worker,
      log,
    }),
    transactions = connect(env, {
      max: functionConnections.handlers,
      applicationName: "carillon-handlers",
      keepsPlans: false,
    }),
  } = given;
  return {
    clock: systemClock,
    log,
    sql,
    transactions,
    queue,
    events,
    lambda,
    own,
    // Only the worker of the slow queue has this setting, and only it delivers webhooks.
    sendWebhook: (request, signal) =>
      webhookFunction(lambda, required(env, "WEBHOOK_FUNCTION"))(request, signal),
    random: Math.random,
    around: (deliver) => deliver,
    ...given,
  };
}

/**
 * The queues that no target may name. Only the worker that delivers to queues has the variable, with the
 * queue of commands and all dead-letter queues.
 */
function ownQueueUrls(env: Environment, { urls }: ParcelQueue): string[] {
  return [
    ...Object.values(urls),
    ...(env["RESERVED_QUEUE_URLS"] ?? "").split(" ").filter((url) => url !== ""),
  ];
}

interface Delivering {
  queues: Parameters<typeof queueTarget>[0];
  buses: Parameters<typeof eventTarget>[0];
  metrics: Metrics;
  notify: Notify;
  prefixes: readonly TargetPrefix[];
}

function deliverToTargets(
  parts: WorkerParts,
  { queues, buses, metrics, notify, prefixes }: Delivering,
): Deliver {
  const { clock, log, sql, transactions, queue, lambda, own, sendWebhook } = parts;
  const targets = {
    queue: queueTarget(queues),
    event: eventTarget(buses),
    handler: handlerTarget({
      handlers: [...own.handlers, canaryHandler(metrics)],
      fault: own.handlersFault,
      clock,
      log,
      sql,
      transactions,
      queue,
      notify,
    }),
    webhook: webhookTarget({ sendWebhook, sealedKeys: rememberedKeys(sql), clock }),
    lambda: lambdaTarget({ lambda, clock }),
  };
  return deliverTo(targets, prefixes);
}

function targetWindowFrom(env: Environment): number | null {
  const bounds = { min: 1, max: 1_000 };
  return env["TARGET_WINDOW"] === undefined ? null : integer(env, "TARGET_WINDOW", bounds.max, bounds);
}

const onEvent = onDemand((env) => assemble(env), { hasHandlers: true });

/**
 * Only the worker of the slow queue has `TARGET_WINDOW`. It runs handlers, which may block the
 * process, so a blocked process is ended there.
 */
export const handler = targetWindowFrom(process.env) === null ? onEvent : endedWhenBlocked(onEvent);
