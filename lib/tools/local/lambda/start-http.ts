import type { IncomingMessage, ServerResponse } from "node:http";
import type { APIGatewayProxyEventV2 } from "aws-lambda";
import type { Clock } from "../../../clock.ts";
import { isApiPath } from "../../../config/api-paths.ts";
import { errorText } from "../../../log/error-text.ts";
import type { Log } from "../../../log/log.ts";
import { type LoopbackServer, listenOnLoopback, readBody } from "../http-server.ts";
import { gatewayAnswer, type HttpAnswer, httpAnswer, internalError } from "./http-answer.ts";
import { httpEvent } from "./http-event.ts";
import type { LocalFunction } from "./local-function.ts";

export interface HttpParts {
  port: number;
  api: LocalFunction<APIGatewayProxyEventV2, unknown>;
  /** The page, on all paths that are not the API's. */
  page: LocalFunction<APIGatewayProxyEventV2, unknown>;
  clock: Clock;
  log: Log;
}

const bodyBytesMax = 10 * 1024 * 1024;

/** An HTTP API of API Gateway with the routes of the deployed one. */
export function startHttp(parts: HttpParts): Promise<LoopbackServer> {
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { status, headers, body } = await answerTo(request, parts).catch((error: unknown) => {
      parts.log.error("local.request-failed", { error: errorText(error) });
      return internalError();
    });
    const hasBody = status !== 204 && status !== 304;
    response.writeHead(status, hasBody ? { ...headers, "content-length": body.length } : headers);
    response.end(hasBody && request.method !== "HEAD" ? body : undefined);
  };
  return listenOnLoopback(parts.port, (request, response) => void answer(request, response));
}

async function answerTo(request: IncomingMessage, { api, page, clock }: HttpParts): Promise<HttpAnswer> {
  const receivedAt = clock.now();
  const body = await readBody(request, bodyBytesMax);
  if (body === undefined) return gatewayAnswer(413, '{"message":"Request Entity Too Large"}');
  const event = httpEvent({
    method: request.method ?? "GET",
    target: request.url ?? "/",
    httpVersion: request.httpVersion,
    headers: request.headersDistinct,
    body,
    sourceIp: request.socket.remoteAddress ?? "127.0.0.1",
    receivedAt,
  });
  if (event === null) return gatewayAnswer(400, '{"message":"Bad Request"}');
  return httpAnswer(await (isApiPath(event.rawPath) ? api : page).invoke(event));
}
