import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { ReceiveMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { assemble as assembleTick } from "../../functions/tick.ts";
import { assemble as assembleWorker } from "../../functions/worker.ts";
import { idle } from "../../infra/tools/cost/idle-month.ts";
import { canaryKeys } from "../../lib/canary/canaries.ts";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { metricUnits } from "../../lib/log/metrics.ts";
import { sqsEvent } from "../../lib/tools/local/lambda/sqs-event.ts";
import { functionsKeyId, localQueueArn, localRegion } from "../../lib/tools/local/local-account.ts";
import { type QueueEmulator, startQueues } from "../../lib/tools/local/queue/start-queues.ts";
import { databaseClock } from "../../lib/tools/testing/virtual-clock.ts";
import { testDatabase } from "../support/database.ts";
import { minute, monday } from "../support/instants.ts";

const minutes = 5;
const names = { fast: "carillon-fast", slow: "carillon-slow", canary: "arrivals" };
const invocation = { awsRequestId: "1", getRemainingTimeInMillis: () => 60_000 };

let database: Awaited<ReturnType<typeof testDatabase>>;
let sql: Sql;
let emulator: QueueEmulator;
let dataDir: string;
let sqs: SQSClient;
let env: Record<string, string>;

beforeEach(async () => {
  database = await testDatabase("still");
  sql = connect({ DATABASE_URL: database.url }, { max: 2 });
  dataDir = mkdtempSync(path.join(tmpdir(), "carillon-canary-"));
  const queues = Object.values(names).map((name) => ({ name, attributes: {} }));
  emulator = await startQueues({ dataDir, port: 0, queues });
  const credentials = { accessKeyId: functionsKeyId, secretAccessKey: functionsKeyId };
  sqs = new SQSClient({ endpoint: emulator.url, region: localRegion, credentials });
  env = {
    DATABASE_URL: database.url,
    AWS_REGION: localRegion,
    AWS_ENDPOINT_URL_SQS: emulator.url,
    AWS_ACCESS_KEY_ID: functionsKeyId,
    AWS_SECRET_ACCESS_KEY: functionsKeyId,
    FAST_QUEUE_URL: emulator.queueUrl(names.fast),
    SLOW_QUEUE_URL: emulator.queueUrl(names.slow),
    CANARY_QUEUE_URL: emulator.queueUrl(names.canary),
    CANARY_MINUTES: String(minutes),
  };
});

afterEach(async () => {
  vi.restoreAllMocks();
  sqs.destroy();
  await sql.end();
  await emulator.stop();
  await database.drop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function messagesOf(name: string) {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({ QueueUrl: emulator.queueUrl(name), WaitTimeSeconds: 1 }),
  );
  return Messages;
}

test("The deployed functions put the canaries and run them to their ends, with any set of handlers", async () => {
  const clock = await databaseClock(sql, monday);
  const written: string[] = [];
  vi.spyOn(process.stdout, "write").mockImplementation((line) => written.push(String(line)) > 0);
  const tick = assembleTick(env);
  const worker = assembleWorker(env);
  const ticked = () => tick.handler({ ticks: 1, tick: 0, time: clock.now().toISOString() }, invocation);
  await ticked();
  await clock.advance(minutes * minute);
  await ticked();
  for (const name of [names.fast, names.slow]) {
    const messages = await messagesOf(name);
    expect(messages, name).toHaveLength(1);
    const answer = await worker.handler(sqsEvent(messages, localQueueArn(name)), invocation);
    expect(answer).toEqual({ batchItemFailures: [] });
  }
  await Promise.all([tick.close(), worker.close()]);
  vi.restoreAllMocks();

  const arrived = (await messagesOf(names.canary)).map(({ Body = "" }) => JSON.parse(Body));
  expect(arrived).toMatchObject([{ schedulekey: canaryKeys.fast }]);
  const lines = written.map((line) => z.looseObject({}).parse(JSON.parse(line)));
  const told = lines.filter((line) => line["CanaryMs"] !== undefined);
  expect(told).toMatchObject([{ event: "metrics", function: "worker", queue: "slow", CanaryMs: 0 }]);
  const metrics = lines
    .filter((line) => line["function"] === "worker" && line["event"] === "metrics")
    .flatMap((line) => Object.keys(line).map((name) => `${line["queue"]} ${name}`))
    .filter((name) => (name.split(" ")[1] ?? "") in metricUnits);
  // The price of an idle month counts them.
  expect(new Set(metrics).size).toBe(idle.canaryMetrics);
});
