import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { EventBridgeClient, PutEventsCommand } from "@aws-sdk/client-eventbridge";
import { LambdaClient } from "@aws-sdk/client-lambda";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { describe, expect, test, vi } from "vitest";
import { Carillon } from "../../lib/client/main.ts";
import { attemptsMax, awsClientSettings, requestLimits, sendingTimeouts } from "../../lib/config/aws.ts";
import { callFunction, sendToFunction } from "../../lib/target/invoke-function.ts";
import { serve } from "../support/tls-front.ts";

/** Servers that accept a connection and do not answer, or stop in the middle of an answer. */

const silent = () => serve((socket) => void socket.resume());

/** Begins an answer and never ends it. */
const breaking = () =>
  serve((socket) => {
    socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{"));
  });

const limits = requestLimits(50);

function settingsOf(service: Parameters<typeof awsClientSettings>[1], port: number) {
  const env = {
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "someone",
    AWS_SECRET_ACCESS_KEY: "secret",
    [`AWS_ENDPOINT_URL_${service}`]: `http://localhost:${port}`,
  };
  return { ...awsClientSettings(env, service, limits), maxAttempts: 1 };
}

const signal = new AbortController().signal;
const invoked = { name: "work", payload: "{}", signal };

const requests: Record<string, (port: number) => Promise<unknown>> = {
  SQS: (port) =>
    new SQSClient(settingsOf("SQS", port)).send(
      new SendMessageCommand({ QueueUrl: `http://localhost:${port}/000000000000/jobs`, MessageBody: "work" }),
    ),
  EventBridge: (port) =>
    new EventBridgeClient(settingsOf("EVENTBRIDGE", port)).send(
      new PutEventsCommand({ Entries: [{ Source: "a", DetailType: "b", Detail: "{}" }] }),
    ),
  "Lambda, called": (port) => callFunction(new LambdaClient(settingsOf("LAMBDA", port)), invoked),
  "Secrets Manager": (port) =>
    new SecretsManagerClient(settingsOf("SECRETS_MANAGER", port)).send(
      new GetSecretValueCommand({ SecretId: "login" }),
    ),
  S3: (port) =>
    new S3Client({ ...settingsOf("S3", port), forcePathStyle: true }).send(
      new PutObjectCommand({ Bucket: "archive", Key: "part", Body: "rows" }),
    ),
};

describe.each(Object.entries(requests))("a request to %s", (_service, request) => {
  test("a request is given up where the server never answers", async () => {
    await expect(request(await silent())).rejects.toMatchObject({ name: "TimeoutError" });
  });
});

describe.each(Object.entries(requests).filter(([service]) => service !== "S3"))(
  "an answer of %s that has begun",
  (_service, request) => {
    test("an answer is given up when it stops in the middle", async () => {
      await expect(request(await breaking())).rejects.toMatchObject({ name: "TimeoutError" });
    });
  },
);

test("an asynchronous call of a function is given up after the time of a small request", async () => {
  const lambda = new LambdaClient(settingsOf("LAMBDA", await silent()));
  const send = vi.spyOn(lambda, "send");
  await expect(sendToFunction(lambda, invoked)).rejects.toMatchObject({ name: "TimeoutError" });
  expect(send.mock.lastCall?.[1]).toMatchObject({ requestTimeout: sendingTimeouts.requestTimeout });
});

test("Carillon's own client gives up a request that gets no answer", async () => {
  const carillon = new Carillon({
    url: `http://localhost:${await silent()}`,
    token: "t",
    timeout: 50,
    retries: 0,
  });
  await expect(carillon.schedules.get("a")).rejects.toMatchObject({ name: "CarillonUnreachable" });
});

test("all attempts at a request fit into the time that a function reserves for them", () => {
  const longestPausesMs = 2_000;
  expect(attemptsMax * sendingTimeouts.requestTimeout + longestPausesMs).toBeLessThan(15_000);
});

test("every client of the SDK is made with limits", () => {
  const folder = path.join(import.meta.dirname, "../..");
  // The page runs in browsers: its QueryClient is no client of the SDK.
  const page = path.join("page", path.sep);
  // The clients of the test kit are answered before they would use the network.
  const kit = path.join("tools", "testing", path.sep);
  const files = ["lib", "functions", "infra"].flatMap((name) =>
    readdirSync(path.join(folder, name), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && ![page, kit].some((apart) => file.startsWith(apart)))
      .map((file) => path.join(folder, name, file)),
  );
  const made = files.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/new [A-Z]\w*Client\((?<given>[\s\S]{0,500}?)\);/g)].map(
      ({ groups }) => ({ file: path.relative(folder, file), given: groups?.["given"] ?? "" }),
    ),
  );
  expect(made.length).toBeGreaterThan(6);
  const unlimited = made.filter(
    ({ given }) => !/requestHandler|awsClientSettings|\.\.\.settings/.test(given),
  );
  expect(unlimited).toEqual([]);
});
