import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import type { SQSEvent } from "aws-lambda";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { systemClock } from "../../lib/clock.ts";
import { chainMax, countsOf } from "../../lib/tools/local/lambda/chain.ts";
import { localFunction } from "../../lib/tools/local/lambda/local-function.ts";
import { startQueueSource } from "../../lib/tools/local/lambda/queue-source.ts";
import { type QueueEmulator, startQueues } from "../../lib/tools/local/queue/start-queues.ts";
import { recordedLog } from "../support/recorded-log.ts";
import { until } from "../support/until.ts";
import { eachItsOwnStack } from "./stack-reads.ts";

/** Clients of the SDK send the trace of an invocation only in Lambda, which they know by this variable. */
const inLambda = { AWS_LAMBDA_FUNCTION_NAME: "local" };
const clock = systemClock;

describe("a function that sends to its own queue", () => {
  let dataDir: string;
  let emulator: QueueEmulator;
  let sqs: SQSClient;

  beforeAll(() => void Object.assign(process.env, inLambda));
  afterAll(() => void delete process.env["AWS_LAMBDA_FUNCTION_NAME"]);
  beforeEach(async () => {
    dataDir = mkdtempSync(path.join(tmpdir(), "carillon-chains-"));
    const queues = [{ name: "jobs", attributes: { VisibilityTimeout: "3600" } }];
    emulator = await startQueues({ dataDir, port: 0, queues });
    const credentials = { accessKeyId: "someone", secretAccessKey: "secret" };
    sqs = new SQSClient({ endpoint: emulator.url, region: "us-east-1", credentials });
  });
  afterEach(async () => {
    sqs.destroy();
    await emulator.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  /** Passes each message on until one has made this many hops, or Lambda ends the chain. */
  async function hops(most: number, mayComeBack: boolean) {
    const log = recordedLog();
    const queue = { name: "jobs", url: emulator.queueUrl("jobs") };
    const send = (body: number) =>
      sqs.send(new SendMessageCommand({ QueueUrl: queue.url, MessageBody: String(body) }));
    const traces: (string | undefined)[] = [];
    const handler = async ({ Records }: SQSEvent) => {
      for (const { body, attributes } of Records) {
        traces.push(attributes.AWSTraceHeader);
        if (Number(body) < most) await send(Number(body) + 1);
      }
    };
    const consumer = localFunction(
      {
        name: "own",
        assemble: () => ({ handler, close: async () => {} }),
        env: {},
        timeoutMs: 60_000,
        concurrency: 1,
        mayComeBack,
      },
      { clock, log },
    );
    const source = startQueueSource({ sqs, queue, batchSizeMax: 1, consumer, clock, log });
    await send(1);
    const ended = () => log.lines.some(({ event }) => event === "local.batch-failed");
    await until("the chain is over", async () => traces.length === most || ended());
    await source.stop();
    await consumer.close(1_000);
    return { traces, ended: ended() };
  }

  test("A function that does not allow it is not invoked for the seventeenth time by one event", async () => {
    const { traces, ended } = await hops(30, false);
    expect(ended).toBe(true);
    expect(traces).toHaveLength(chainMax);
    expect(countsOf(traces.at(-1))).toEqual(new Map([["own", chainMax - 1]]));
  });

  test("A function that allows it is invoked as often as its events lead back to it", async () => {
    const { traces, ended } = await hops(30, true);
    expect(ended).toBe(false);
    expect(traces).toHaveLength(30);
  });
});

// A start takes seconds, and many times as long on a busy machine.
describe("npm start", { timeout: 120_000 }, () => {
  const own = eachItsOwnStack();
  /** More than the invocations after which Lambda ends a chain. */
  const attempts = chainMax + 4;
  const failing = `
    import { defineJob } from "carillon/job";
    const trace = () => globalThis.awslambda.InvokeStore.getXRayTraceId();
    export const handlers = [defineJob({ name: "fail", run: async () => { throw new Error(trace()); } })];
  `;

  test("A job is tried again more often than Lambda lets one event lead back to a function", async () => {
    const file = path.join(path.dirname(own.dataDir), "handlers.mjs");
    writeFileSync(file, failing);
    const stack = await own.start({ ...inLambda, CARILLON_HANDLERS: file });
    const retry = { attempts, backoff: "fixed", base: "100ms" };
    const made = await stack.request("POST", "/v1/jobs", { target: { handler: "fail" }, retry });
    const { id } = z.object({ id: z.string() }).parse(await made.json());
    const error = await until("the job is dead", async () => {
      const job = await (await stack.request("GET", `/v1/jobs/${id}`)).json();
      const { state, error } = z.object({ state: z.string(), error: z.string().nullable() }).parse(job);
      return state === "dead" ? error : undefined;
    });
    const header = error?.match(/Root=\S+/)?.[0];
    expect(countsOf(header).get("slow")).toBe(attempts);
  });
});
