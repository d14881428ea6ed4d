import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { APIGatewayProxyEventV2 } from "aws-lambda";
import { Problem } from "../../../api/request/problem.ts";
import { problemAnswer } from "../../../api/request/problem-answer.ts";
import type { Clock } from "../../../clock.ts";
import { isApiPath } from "../../../config/api-paths.ts";
import { errorText } from "../../../log/error-text.ts";
import type { Log } from "../../../log/log.ts";
import { type Callers, guarded } from "../callers.ts";
import { type LoopbackServer, listenOnLoopback, readBody } from "../http-server.ts";
import { gatewayAnswer, type HttpAnswer, httpAnswer, internalError } from "./http-answer.ts";
import { httpEvent } from "./http-event.ts";
import type { LocalFunction } from "./local-function.ts";

export interface HttpParts {
  port: number;
  /** Default: the loopback interface and the stack's own page. */
  callers?: Callers;
  api: LocalFunction<APIGatewayProxyEventV2, unknown>;
  /** The page, on all paths that are not the API's. */
  page: LocalFunction<APIGatewayProxyEventV2, unknown>;
  clock: Clock;
  log: Log;
}

export const bodyBytesMax = 10 * 1024 * 1024;

const ownCallers: Callers = { hosts: [], origins: [] };

/** An HTTP API of API Gateway with the routes of the deployed one. */
export function startHttp(parts: HttpParts): Promise<LoopbackServer> {
  const { port, callers = ownCallers, log } = parts;
  return listenWith({ port, callers, log }, (request, gone) => answerTo(request, gone, parts));
}

/**
 * Sends what `answerTo` makes of each request. The signal aborts when the caller closes the connection
 * before the answer.
 */
export function listenWith(
  { port, callers, log }: { port: number; callers: Callers; log: Log },
  answerTo: (request: IncomingMessage, gone: AbortSignal) => Promise<HttpAnswer>,
): Promise<LoopbackServer> {
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const going = new AbortController();
    response.once("close", () => going.abort());
    const { status, headers, body } = await answerTo(request, going.signal).catch((error: unknown) => {
      if (!going.signal.aborted) log.error("local.request-failed", { error: errorText(error) });
      return internalError();
    });
    if (going.signal.aborted) return;
    const hasBody = status !== 204 && status !== 304;
    response.writeHead(status, hasBody ? { ...headers, "content-length": body.length } : headers);
    response.end(hasBody && request.method !== "HEAD" ? body : undefined);
  };
  return listenOnLoopback(
    port,
    guarded(callers, (request, response) => void answer(request, response)),
  );
}

async function answerTo(
  request: IncomingMessage,
  gone: AbortSignal,
  { api, page, clock }: HttpParts,
): Promise<HttpAnswer> {
  const receivedAt = clock.now();
  const body = await readBody(request, bodyBytesMax);
  if (body === undefined) return gatewayAnswer(413, '{"message":"Request Entity Too Large"}');
  const event = eventOf(request, body, receivedAt);
  if (event === null) return gatewayAnswer(400, '{"message":"Bad Request"}');
  if (event.rawPath.startsWith(testPaths)) return httpAnswer(noTestClock());
  return httpAnswer(await (isApiPath(event.rawPath) ? api : page).invoke(event, gone));
}

/** The event of a request; null when the gateway answers 400 itself. */
export function eventOf(
  request: IncomingMessage,
  body: Buffer,
  receivedAt: Date,
): APIGatewayProxyEventV2 | null {
  return httpEvent({
    method: request.method ?? "GET",
    target: request.url ?? "/",
    httpVersion: request.httpVersion,
    headers: request.headersDistinct,
    body,
    sourceIp: request.socket.remoteAddress ?? "127.0.0.1",
    receivedAt,
  });
}

/** Paths of a stack with a test clock. The page has none that begins so. */
export const testPaths = "/test/";

function noTestClock(): unknown {
  const detail =
    "This stack runs on real time. One that is started with `carillon dev --test-clock` has a clock that tests move.";
  return problemAnswer(new Problem("missing", detail), randomUUID());
}
