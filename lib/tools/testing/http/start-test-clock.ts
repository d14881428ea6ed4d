import { randomBytes, randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { APIGatewayProxyEventV2 } from "aws-lambda";
import { readJsonBody } from "../../../api/request/json-body.ts";
import { Problem } from "../../../api/request/problem.ts";
import { problemAnswer } from "../../../api/request/problem-answer.ts";
import { systemClock } from "../../../clock.ts";
import { isApiPath } from "../../../config/api-paths.ts";
import type { JobHandler } from "../../../job/define-job.ts";
import { errorText } from "../../../log/error-text.ts";
import type { Log } from "../../../log/log.ts";
import { Refusal } from "../../../refusal.ts";
import { readBody } from "../../local/http-server.ts";
import { gatewayAnswer, type HttpAnswer, httpAnswer } from "../../local/lambda/http-answer.ts";
import type { LocalFunction } from "../../local/lambda/local-function.ts";
import { bodyBytesMax, eventOf, listenWith, testPaths } from "../../local/lambda/start-http.ts";
import { localPage } from "../../local/local-functions.ts";
import { testCarillon } from "../test-carillon.ts";
import { TestRoutes } from "./test-routes.ts";

export interface TestClockParts {
  port: number;
  /** Where the clock begins. */
  now: string;
  /** The admin token. By default a new one is made. */
  token: string | undefined;
  handlers: readonly JobHandler[];
  webhookAllow: string | undefined;
  /** Names of this machine besides those of the loopback interface. */
  hosts?: readonly string[];
  eventSources: string | undefined;
  targetPrefixes: readonly string[];
  pageName: string;
  log: Log;
}

export interface TestClockStack {
  url: string;
  /** The address of the page that signs in: the token is in its fragment, which no server receives. */
  signIn: string;
  stop(): Promise<void>;
}

const closeGraceMs = 1_000;

/**
 * The test kit as a server, for tests in any language: the API and the page, and under /test a clock
 * that only requests move. Nothing of it outlives the process.
 */
export async function startTestClock(parts: TestClockParts): Promise<TestClockStack> {
  const { port, handlers, webhookAllow, eventSources, targetPrefixes, hosts = [], pageName, log } = parts;
  const token = parts.token ?? randomBytes(32).toString("base64url");
  const tests = await TestRoutes.opened((now = parts.now) =>
    testCarillon({
      now,
      handlers,
      token,
      targetPrefixes,
      ...(webhookAllow === undefined ? {} : { webhookAllow }),
      ...(eventSources === undefined ? {} : { eventSources }),
    }),
  );
  const page = localPage({ pageName, clock: systemClock, log });
  const http = await listenWith({ port, callers: { hosts, origins: [] }, log }, (request) =>
    answerTo(request, { tests, token, page, log }),
  );
  return {
    url: http.url,
    signIn: `${http.url}/#token=${token}`,
    stop: async () => {
      await http.close(closeGraceMs);
      await page.close(0);
      await tests.carillon.stop();
    },
  };
}

interface Answering {
  tests: TestRoutes;
  token: string;
  page: LocalFunction<APIGatewayProxyEventV2, unknown>;
  log: Log;
}

async function answerTo(request: IncomingMessage, answering: Answering): Promise<HttpAnswer> {
  const body = await readBody(request, bodyBytesMax);
  if (body === undefined) return gatewayAnswer(413, '{"message":"Request Entity Too Large"}');
  const event = eventOf(request, body, systemClock.now());
  if (event === null) return gatewayAnswer(400, '{"message":"Bad Request"}');
  if (event.rawPath.startsWith(testPaths)) return testAnswer(event, answering);
  if (!isApiPath(event.rawPath)) return httpAnswer(await answering.page.invoke(event));
  return apiAnswer(request, body, answering.tests.carillon.connection);
}

async function testAnswer(
  event: APIGatewayProxyEventV2,
  { tests, token, log }: Answering,
): Promise<HttpAnswer> {
  try {
    if (event.headers["authorization"] !== `Bearer ${token}`)
      throw new Refusal("unauthorized", "What moves the clock takes the admin token, as the API does.");
    const { rawPath, body, isBase64Encoded, queryStringParameters } = event;
    const answer = await tests.answer({
      method: event.requestContext.http.method,
      path: rawPath,
      query: compact(queryStringParameters),
      body: readJsonBody({ body, isBase64Encoded, contentType: event.headers["content-type"] }),
    });
    return gatewayAnswer(200, JSON.stringify(answer));
  } catch (error) {
    return httpAnswer(problemAnswer(worded(error, log), randomUUID()));
  }
}

/** The kit's own errors are for the author of the test: a handler that hangs, with its name. */
function worded(error: unknown, log: Log): unknown {
  if (error instanceof Refusal || error instanceof Problem) return error;
  log.error("local.request-failed", { error: errorText(error) });
  return new Problem("internal", errorText(error));
}

async function apiAnswer(
  request: IncomingMessage,
  body: Buffer,
  { url, fetch }: { url: string; fetch: typeof globalThis.fetch },
): Promise<HttpAnswer> {
  const headers = new Headers();
  for (const [name, values] of Object.entries(request.headersDistinct))
    for (const value of values ?? []) headers.append(name, value);
  const method = request.method ?? "GET";
  const answered = await fetch(`${url}${request.url ?? "/"}`, {
    method,
    headers,
    ...(body.length === 0 ? {} : { body: new Uint8Array(body) }),
  });
  return {
    status: answered.status,
    headers: Object.fromEntries(answered.headers),
    body: Buffer.from(await answered.arrayBuffer()),
  };
}

function compact(query: APIGatewayProxyEventV2["queryStringParameters"]): Record<string, string> {
  const given = Object.entries(query ?? {});
  return Object.fromEntries(given.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
