import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { afterEach, expect, test } from "vitest";
import type { LoopbackServer } from "../../lib/tools/local/http-server.ts";
import { type InvokeLocal, startLambda } from "../../lib/tools/local/lambda/start-lambda.ts";
import { recordedLog } from "../support/recorded-log.ts";
import { until } from "../support/until.ts";

let stop = new AsyncDisposableStack();

afterEach(async () => {
  await stop.disposeAsync();
  stop = new AsyncDisposableStack();
});

async function emulator(
  functions: Record<string, InvokeLocal>,
  elsewhere?: string,
): Promise<{ server: LoopbackServer; client: LambdaClient; log: ReturnType<typeof recordedLog> }> {
  const log = recordedLog();
  const server = await startLambda({
    port: 0,
    functions: new Map(Object.entries(functions)),
    elsewhere,
    log,
  });
  stop.defer(() => server.close(0));
  const client = new LambdaClient({
    endpoint: server.url,
    region: "us-east-1",
    credentials: { accessKeyId: "own", secretAccessKey: "own" },
    maxAttempts: 1,
  });
  stop.defer(() => client.destroy());
  return { server, client, log };
}

const invoke = (
  FunctionName: string,
  payload: unknown,
  InvocationType: "Event" | "RequestResponse" | "DryRun",
) => new InvokeCommand({ FunctionName, InvocationType, Payload: Buffer.from(JSON.stringify(payload)) });

test("a local function answers any client by Lambda's own protocol", async () => {
  const { client } = await emulator({ double: async (event) => ({ twice: [event, event] }) });
  const answer = await client.send(invoke("double", { a: "ü" }, "RequestResponse"));
  expect(answer).toMatchObject({ StatusCode: 200, ExecutedVersion: "$LATEST" });
  expect(answer.FunctionError).toBeUndefined();
  expect(JSON.parse(answer.Payload?.transformToString() ?? "")).toEqual({ twice: [{ a: "ü" }, { a: "ü" }] });
});

test("a function's error is returned as its answer, marked as an error", async () => {
  const throwing = async () => {
    throw new RangeError("too far");
  };
  const { client } = await emulator({ throwing });
  const answer = await client.send(invoke("throwing", {}, "RequestResponse"));
  expect(answer.FunctionError).toBe("Unhandled");
  expect(JSON.parse(answer.Payload?.transformToString() ?? "")).toMatchObject({
    errorType: "RangeError",
    errorMessage: "too far",
    trace: expect.arrayContaining(["RangeError: too far"]),
  });
});

test("an asynchronous event is accepted at once and handled later, and only a failure is logged", async () => {
  const seen: unknown[] = [];
  const later = async (event: unknown) => {
    seen.push(event);
    throw new Error("no");
  };
  const { client, log } = await emulator({ later });
  expect(await client.send(invoke("later", { n: 1 }, "Event"))).toMatchObject({ StatusCode: 202 });
  await until("the event arrives", async () => seen.length === 1);
  expect(log.lines.map(({ event }) => event)).toEqual(["local.invoke-failed"]);
  expect(await client.send(invoke("later", { n: 2 }, "DryRun"))).toMatchObject({ StatusCode: 204 });
  expect(seen).toEqual([{ n: 1 }]);
});

test("an unknown function is refused with a message that names the remedy", async () => {
  const { client } = await emulator({});
  await expect(client.send(invoke("resize", {}, "Event"))).rejects.toThrow(
    /function resize is not run here.*set CARILLON_LAMBDA_URL/,
  );
  await expect(client.send(invoke("resize", {}, "Event"))).rejects.toMatchObject({
    name: "ResourceNotFoundException",
  });
});

test("with another emulator every other function runs there, and its answer is passed on", async () => {
  const seen: unknown[] = [];
  const there = await emulator({
    resize: async (event) => {
      seen.push(event);
      if (event === "bad") throw new TypeError("cannot");
      return { done: true };
    },
  });
  const { client } = await emulator({ own: async () => "own" }, there.server.url);
  const answer = await client.send(invoke("resize", "good", "RequestResponse"));
  expect(answer.Payload?.transformToString()).toBe('{"done":true}');
  expect((await client.send(invoke("resize", "bad", "RequestResponse"))).FunctionError).toBe("Unhandled");
  expect((await client.send(invoke("resize", "later", "Event"))).StatusCode).toBe(202);
  expect((await client.send(invoke("own", "", "RequestResponse"))).Payload?.transformToString()).toBe(
    '"own"',
  );
  await expect(client.send(invoke("nowhere", {}, "RequestResponse"))).rejects.toMatchObject({
    name: "ResourceNotFoundException",
  });
  expect(seen).toEqual(["good", "bad", "later"]);
});

test("an unreachable emulator is named in the error", async () => {
  const { client } = await emulator({}, "http://127.0.0.1:9");
  await expect(client.send(invoke("resize", {}, "Event"))).rejects.toThrow(
    /No emulator of Lambda answered at http:\/\/127\.0\.0\.1:9, which CARILLON_LAMBDA_URL names/,
  );
});

test("a page in a browser cannot invoke a function, because requests must be signed", async () => {
  let invoked = false;
  const { server } = await emulator({
    own: async () => {
      invoked = true;
    },
  });
  const url = `${server.url}/2015-03-31/functions/own/invocations`;
  expect((await fetch(url, { method: "POST", body: "{}" })).status).toBe(403);
  expect((await fetch(url)).status).toBe(404);
  expect(invoked).toBe(false);
});
