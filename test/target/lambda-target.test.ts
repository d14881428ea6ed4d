import { LambdaClient } from "@aws-sdk/client-lambda";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../lib/log/log.ts";
import { done } from "../../lib/target/delivery.ts";
import { lambdaTarget } from "../../lib/target/lambda-target.ts";
import { Places } from "../../lib/target/places.ts";
import { AttemptStopped, Stop } from "../../lib/target/stop.ts";
import { type LoopbackServer, listenOnLoopback } from "../../lib/tools/local/http-server.ts";
import { type InvokeLocal, startLambda } from "../../lib/tools/local/lambda/start-lambda.ts";
import { claimedJob } from "../support/claimed-job.ts";
import { deliveryContext } from "../support/delivery-context.ts";
import { at, second } from "../support/instants.ts";
import { manualClock } from "../support/manual-clock.ts";
import { until } from "../support/until.ts";

let stop: AsyncDisposableStack;
beforeEach(() => {
  stop = new AsyncDisposableStack();
});
afterEach(() => stop.disposeAsync());

function clientOf(server: LoopbackServer): LambdaClient {
  const lambda = new LambdaClient({
    endpoint: server.url,
    region: "us-east-1",
    credentials: { accessKeyId: "own", secretAccessKey: "own" },
    maxAttempts: 1,
  });
  stop.defer(() => lambda.destroy());
  return lambda;
}

/** Events that arrived, by the function's name. */
async function setup(functions: Record<string, InvokeLocal> = {}) {
  const seen: [string, unknown][] = [];
  const noting = Object.entries(functions).map(([name, run]): [string, InvokeLocal] => [
    name,
    (event) => {
      seen.push([name, event]);
      return run(event);
    },
  ]);
  const server = await startLambda({
    port: 0,
    functions: new Map(noting),
    elsewhere: undefined,
    log: silentLog,
  });
  stop.defer(() => server.close(0));
  const lambda = clientOf(server);
  const clock = manualClock(at(3 * second).toISOString());
  return { seen, clock, deliver: lambdaTarget({ lambda, clock }) };
}

const job = (lambda: string, invocation: "async" | "sync", parts: Parameters<typeof claimedJob>[1] = {}) =>
  claimedJob({ lambda, invocation }, parts);

test.each(["async", "sync"] as const)(
  "a function gets the envelope as its event (%s)",
  async (invocation) => {
    const { seen, deliver } = await setup({ resize: async () => ({ anything: 1 }) });
    expect(
      await deliver([job("resize", invocation, { attempt: 1, dueAt: at(second) })], deliveryContext()),
    ).toEqual([done]);
    await until("the event arrives", async () => seen.length === 1);
    expect(seen).toEqual([
      [
        "resize",
        {
          specversion: "1.0",
          type: "carillon.job.due",
          source: "carillon",
          id: `7-${at(0).getTime()}-c0`,
          subject: "order:1",
          time: "2026-03-02T10:00:01.000Z",
          datacontenttype: "application/json",
          data: { n: 1 },
          schedulekey: "order:1",
          scheduleid: "7",
          attempt: 2,
          generatedat: "2026-03-02T10:00:03.000Z",
        },
      ],
    ]);
  },
);

test("if a function throws, a synchronous job fails with its error, and an asynchronous one succeeds", async () => {
  const throwing = async () => {
    throw new RangeError("x".repeat(5_000));
  };
  const { deliver } = await setup({ throwing });
  const [sync, async] = await deliver(
    [job("throwing", "sync"), job("throwing", "async", { n: 1 })],
    deliveryContext(),
  );
  expect(sync).toMatchObject({
    kind: "failed",
    giveUp: false,
    errorClass: "RangeError",
    error: expect.stringMatching(/^RangeError: x+$/),
    stack: expect.stringContaining("RangeError"),
  });
  expect(JSON.stringify(sync).length).toBeLessThan(12_000);
  expect(async).toEqual(done);
});

test("a missing function fails its own jobs, which are retried, and no other", async () => {
  const { deliver } = await setup({ there: async () => null });
  expect(
    await deliver(
      [job("nowhere", "async"), job("there", "sync", { n: 1 }), job("nowhere", "sync", { n: 2 })],
      deliveryContext(),
    ),
  ).toMatchObject([
    { kind: "failed", giveUp: false, errorClass: "ResourceNotFoundException" },
    done,
    { kind: "failed", giveUp: false, errorClass: "ResourceNotFoundException" },
  ]);
});

test("a function of another region is refused for good, and no function of this region is called", async () => {
  const { deliver, seen } = await setup({ resize: async () => null });
  const arn = "arn:aws:lambda:eu-west-1:000000000000:function:resize";
  expect(await deliver([job(arn, "async")], deliveryContext())).toMatchObject([
    { kind: "failed", giveUp: true },
  ]);
  expect(seen).toEqual([]);
});

test("a function that hangs is waited for until the schedule's timeout, or until the job is cancelled", async () => {
  const { deliver, clock, seen } = await setup({ hanging: () => new Promise(() => {}) });
  const cancelled = new Stop();
  const jobs = [job("hanging", "sync", { timeout: "5s" }), job("hanging", "sync", { n: 1 })];
  const context = deliveryContext({
    stopOf: ({ n }) => (n === 1 ? cancelled : new Stop()),
  });
  const delivering = deliver(jobs, context);
  await until("both are under way", async () => seen.length === 2);
  cancelled.come(new AttemptStopped("cancelled", "The job was cancelled."));
  await clock.advance(5 * second);
  expect(await delivering).toMatchObject([
    { kind: "failed", error: expect.stringContaining("The attempt took longer than 5s.") },
    { kind: "cancelled" },
  ]);
});

test("at most as many functions are under way at once as there are places", async () => {
  const gates: (() => void)[] = [];
  const { deliver } = await setup({ slow: () => new Promise<void>((resolve) => gates.push(resolve)) });
  const jobs = Array.from({ length: 7 }, (_, n) => job("slow", "sync", { n }));
  const delivering = deliver(jobs, deliveryContext({ places: new Places(3) }));
  const underWay: number[] = [];
  for (const wanted of [3, 3, 1]) {
    await until(`${wanted} are under way`, async () => gates.length === wanted);
    underWay.push(gates.length);
    for (const open of gates.splice(0)) open();
  }
  expect(await delivering).toEqual(jobs.map(() => done));
  expect(underWay).toEqual([3, 3, 1]);
});

test("a throttled call of a function is a failed attempt, and is retried", async () => {
  const server = await listenOnLoopback(0, (request, response) => {
    request.resume();
    response.writeHead(429, { "x-amzn-errortype": "TooManyRequestsException", "retry-after": "1" });
    response.end('{"Reason":"ConcurrentInvocationLimitExceeded","message":"Rate Exceeded."}');
  });
  stop.defer(() => server.close(0));
  const deliver = lambdaTarget({ lambda: clientOf(server), clock: manualClock(at(0).toISOString()) });
  expect(await deliver([job("busy", "async")], deliveryContext())).toMatchObject([
    { kind: "failed", giveUp: false, error: "TooManyRequestsException: Rate Exceeded." },
  ]);
});
