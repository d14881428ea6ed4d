import { SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import type { Clock } from "../../clock.ts";
import { requestLimits } from "../../config/aws.ts";
import { workerBatchSize } from "../../config/function-limits.ts";
import type { Log } from "../../log/log.ts";
import { type KeyVault, secretVault } from "../../sealing/key-vault.ts";
import { webhookEvent } from "../../sealing/vault-request.ts";
import { Closers } from "./closers.ts";
import { type DataDir, keepText, keptSecret, openDataDir } from "./data-dir.ts";
import type { QueueMessage } from "./events/bus.ts";
import { startEvents } from "./events/start-events.ts";
import { RunningHandlers } from "./handlers/running-handlers.ts";
import { tellExit } from "./handlers/tell-exit.ts";
import { watchBlocked } from "./handlers/watch-blocked.ts";
import type { LoopbackServer } from "./http-server.ts";
import { eachMinute } from "./lambda/each-minute.ts";
import { pollSeconds, startQueueSource } from "./lambda/queue-source.ts";
import { startHttp } from "./lambda/start-http.ts";
import { startLambda } from "./lambda/start-lambda.ts";
import { functionsKeyId, localRegion } from "./local-account.ts";
import { type DatabaseUrls, type FirstSecrets, prepareEmbedded, prepareGiven } from "./local-database.ts";
import {
  ingestQueue,
  jobQueues,
  type LocalFunctions,
  localConnectionsMax,
  localFunctions,
  localPage,
  localWebhook,
  webhookFunctionName,
} from "./local-functions.ts";
import { startPostgres } from "./postgres/start-postgres.ts";
import { queuesBeside } from "./queue/queues-beside.ts";
import type { QueueEmulator } from "./queue/start-queues.ts";
import type { LocalSettings } from "./settings.ts";

export interface Stack {
  urls: { api: string; sqs: string; events: string };
  /** The address of the page that signs in: the token is in its fragment, which no server receives. */
  signIn: string;
  /** Resolves with the reason when the stack cannot continue; otherwise never. */
  broken: Promise<string>;
  /** Assembles all functions again, with the handlers that are loaded by now. */
  renew(): void;
  /** Lets running work finish within seconds, and stops everything. */
  stop(): Promise<void>;
}

export interface StackParts {
  settings: LocalSettings;
  /** Opened by the caller; released with the stack, or when its start fails. */
  dataDir?: DataDir;
  /** Called with the address of the API when it answers, before any tick or worker runs. */
  answers?: (api: string) => Promise<void>;
  clock: Clock;
  log: Log;
}

const httpGraceMs = 1_000;
const functionsGraceMs = 1_500;

/**
 * Runs every deployed function in this process, the queues in a thread of it, and one Postgres
 * beside it. When it resolves, everything is ready.
 */
export async function startStack({ settings, clock, log, ...given }: StackParts): Promise<Stack> {
  const started = new Closers();
  try {
    const dataDir = given.dataDir ?? openDataDir(settings.dataDir);
    started.defer(() => dataDir.release());
    const { hosts } = settings;
    const token = settings.token ?? keptSecret(dataDir.tokenFile);
    if (settings.token === undefined) log.info("local.token", { file: dataDir.tokenFile });
    const vault = secretVault(keptSecret(dataDir.vaultFile));
    const database = await startDatabase(
      { settings, clock, log },
      dataDir.postgres,
      { token, vault },
      started,
    );

    const queues = await queuesBeside({
      dataDir: dataDir.sqs,
      port: settings.ports.sqs,
      hosts,
      queues: [...Object.values(jobQueues), ingestQueue],
    });
    started.defer(() => queues.stop());
    const sqs = localClient(queues);
    started.defer(() => sqs.destroy());
    const send = (message: QueueMessage) => sendToQueue(sqs, queues, message);
    const events = await startEvents({
      dataDir: dataDir.events,
      port: settings.ports.events,
      hosts,
      send,
      log,
      clock,
    });
    started.defer(() => events.stop());

    const lambda = await startOwnLambda({ settings, clock, log }, vault, started);

    const running = new RunningHandlers();
    started.defer(watchBlocked(running));
    const functions = localFunctions({
      ...settings,
      running,
      databases: database.urls,
      queueUrl: queues.queueUrl,
      sqsUrl: queues.url,
      eventsUrl: events.url,
      lambdaUrl: lambda.url,
      clock,
      log,
    });
    started.defer(() => closeAll(functions));
    const page = localPage({ pageName: settings.pageName, clock, log });
    started.defer(() => page.close(0));
    const callers = { hosts, origins: settings.corsOrigins?.split(",") ?? [] };
    const http = await startHttp({ port: settings.ports.api, callers, api: functions.api, page, clock, log });
    started.defer(() => http.close(httpGraceMs));
    keepText(dataDir.urlFile, http.url);
    await given.answers?.(http.url);
    connectSources(functions, { sqs, queues, clock, log }, started);
    started.defer(tellExit(running));
    return {
      urls: { api: http.url, sqs: queues.url, events: events.url },
      signIn: `${http.url}/#token=${token}`,
      broken: database.broken,
      renew: () => {
        for (const each of Object.values(functions)) each.renew();
      },
      stop: () => started.close(),
    };
  } catch (error) {
    await started.close();
    throw error;
  }
}

/** For migrations, and for clients that inspect the database. */
const othersConnectionsMax = 20;

async function startDatabase(
  { settings, clock, log }: StackParts,
  dataDir: string,
  secrets: FirstSecrets,
  started: Closers,
): Promise<{ urls: DatabaseUrls; broken: Promise<string> }> {
  const rows = { ...secrets, quotas: settings.quotas, prefixWeights: settings.prefixWeights };
  if (settings.databaseUrl !== undefined) {
    return { urls: await prepareGiven(settings.databaseUrl, rows, log), broken: new Promise(() => {}) };
  }
  const connections = localConnectionsMax + othersConnectionsMax;
  const server = await startPostgres({
    dataDir,
    clock,
    log,
    settings: { max_connections: String(connections), max_locks_per_transaction: "256" },
  });
  let stopping = false;
  started.defer(() => {
    stopping = true;
    return server.stop();
  });
  const broken = new Promise<string>((resolve) => {
    void server.exited.then(() => {
      if (!stopping) resolve(`Postgres ended unexpectedly; its log is in ${dataDir}.`);
    });
  });
  return { urls: await prepareEmbedded(server.socketUrl, rows, log), broken };
}

/**
 * The endpoint at which the workers invoke the sender of webhooks. Only the workers know its port.
 */
export async function startOwnLambda(
  { settings, clock, log }: StackParts,
  vault: KeyVault,
  started: Closers,
): Promise<LoopbackServer> {
  const webhook = localWebhook({ ...settings, vault, clock, log });
  started.defer(() => webhook.close(0));
  const invoke = (event: unknown) => webhook.invoke(webhookEvent.parse(event));
  const functions = new Map([[webhookFunctionName, invoke]]);
  const lambda = await startLambda({ port: 0, functions, elsewhere: settings.lambdaUrl, log });
  started.defer(() => lambda.close(0));
  return lambda;
}

interface SourceParts {
  sqs: SQSClient;
  queues: QueueEmulator;
  clock: Clock;
  log: Log;
}

/**
 * SQS's limit for one receive call. Lambda combines several calls into one batch; here they stay
 * separate batches.
 */
const receivedMax = 10;

/**
 * Starts the delivery of jobs: queues invoke the workers, and a timer invokes the tick each minute.
 */
function connectSources(functions: LocalFunctions, parts: SourceParts, started: Closers): void {
  const { sqs, queues, clock, log } = parts;
  const feeds = [
    { name: jobQueues.fast.name, consumer: functions.fastWorker, batchSizeMax: workerBatchSize.fast },
    { name: jobQueues.slow.name, consumer: functions.slowWorker, batchSizeMax: workerBatchSize.slow },
    { name: ingestQueue.name, consumer: functions.ingest, batchSizeMax: receivedMax },
  ];
  for (const { name, consumer, batchSizeMax } of feeds) {
    const source = startQueueSource({
      sqs,
      queue: { name, url: queues.queueUrl(name) },
      batchSizeMax,
      consumer,
      clock,
      log,
    });
    started.defer(() => source.stop());
  }
  const rule = eachMinute(functions.tick, { clock, log });
  started.defer(() => rule.stop());
}

function localClient(queues: QueueEmulator): SQSClient {
  const credentials = { accessKeyId: functionsKeyId, secretAccessKey: functionsKeyId };
  // A long poll answers after its wait even without messages, so the timeout must exceed the wait.
  const requestHandler = requestLimits(2 * pollSeconds * 1_000);
  return new SQSClient({ endpoint: queues.url, region: localRegion, credentials, requestHandler });
}

async function sendToQueue(sqs: SQSClient, queues: QueueEmulator, message: QueueMessage): Promise<void> {
  const QueueUrl = queues.queueUrl(message.queueArn.split(":").at(-1) ?? "");
  const group = message.messageGroupId === null ? {} : { MessageGroupId: message.messageGroupId };
  await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: message.body, ...group }));
}

async function closeAll(functions: LocalFunctions): Promise<void> {
  await Promise.all(Object.values(functions).map((local) => local.close(functionsGraceMs)));
}
