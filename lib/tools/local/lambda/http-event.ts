import { randomUUID } from "node:crypto";
import type { APIGatewayProxyEventV2 } from "aws-lambda";
import { localAccount } from "../local-account.ts";

export interface HttpRequest {
  method: string;
  /** Path and query as they were sent. */
  target: string;
  httpVersion: string;
  headers: Readonly<Record<string, readonly string[] | undefined>>;
  body: Buffer;
  sourceIp: string;
  receivedAt: Date;
}

/**
 * The event that an HTTP API of API Gateway makes of a request (payload format 2.0); null when it
 * answers 400 itself.
 */
export function httpEvent(request: HttpRequest): APIGatewayProxyEventV2 | null {
  const [path = "/", query = ""] = split(request.target, "?");
  // The path is decoded, even an encoded slash, although its name says raw; the query stays as it
  // was sent.
  const rawPath = decoded(path);
  if (rawPath === null) return null;
  const { cookie, ...others } = request.headers;
  const headers = Object.fromEntries(
    Object.entries(others).map(([name, values]) => [name.toLowerCase(), (values ?? []).join(",")]),
  );
  const cookies = (cookie ?? []).flatMap((line) => line.split(/;\s*/));
  const parameters = queryParameters(query);
  return {
    version: "2.0",
    routeKey: "$default",
    rawPath,
    rawQueryString: query,
    ...(cookies.length === 0 ? {} : { cookies }),
    headers: { ...headers, "x-forwarded-for": request.sourceIp, "x-forwarded-proto": "http" },
    ...(Object.keys(parameters).length === 0 ? {} : { queryStringParameters: parameters }),
    requestContext: requestContext(request, rawPath, headers),
    ...bodyFields(request.body, headers["content-type"]),
  };
}

function requestContext(
  { method, httpVersion, sourceIp, receivedAt }: HttpRequest,
  path: string,
  headers: Readonly<Record<string, string>>,
): APIGatewayProxyEventV2["requestContext"] {
  return {
    accountId: localAccount,
    apiId: "local",
    domainName: (headers["host"] ?? "localhost").replace(/:\d+$/, ""),
    domainPrefix: "local",
    http: { method, path, protocol: `HTTP/${httpVersion}`, sourceIp, userAgent: headers["user-agent"] ?? "" },
    requestId: randomUUID(),
    routeKey: "$default",
    stage: "$default",
    time: commonLogTime(receivedAt),
    timeEpoch: receivedAt.getTime(),
  };
}

/** Text types are passed as text, everything else in base64, including text that is not UTF-8. */
function bodyFields(
  body: Buffer,
  contentType: string | undefined,
): { body?: string; isBase64Encoded: boolean } {
  if (body.length === 0) return { isBase64Encoded: false };
  if (/^\s*(text\/|application\/([\w.-]+\+)?(json|xml|javascript)\b)/i.test(contentType ?? "")) {
    try {
      return {
        body: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body),
        isBase64Encoded: false,
      };
    } catch {
      return { body: body.toString("base64"), isBase64Encoded: true };
    }
  }
  return { body: body.toString("base64"), isBase64Encoded: true };
}

function queryParameters(query: string): Record<string, string> {
  const parameters = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(query)) {
    const earlier = parameters.get(name);
    parameters.set(name, earlier === undefined ? value : `${earlier},${value}`);
  }
  return Object.fromEntries(parameters);
}

function decoded(path: string): string | null {
  try {
    return decodeURIComponent(path);
  } catch {
    return null;
  }
}

function split(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

/** The time in the form 21/Nov/2026:08:00:00 +0000. */
function commonLogTime(instant: Date): string {
  const [, day, month, year, time] = /^\w+, (\d+) (\w+) (\d+) ([\d:]+)/.exec(instant.toUTCString()) ?? [];
  return `${day}/${month}/${year}:${time} +0000`;
}
