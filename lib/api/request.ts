import type { APIGatewayProxyEventV2 } from "aws-lambda";
import { Refusal } from "../refusal.ts";
import type { Origin } from "../schedule/caller.ts";
import { readJsonBody } from "./json-body.ts";

/** An HTTP request as the routes see it: path and query decoded, the body read only when a route asks for it. */
export interface ApiRequest {
  method: string;
  segments: readonly string[];
  query: Readonly<Record<string, string>>;
  header(name: string): string | undefined;
  /** Where it comes from. */
  from: Pick<Origin, "request" | "ip" | "agent">;
  /** Undefined where no body was sent. */
  json(): unknown;
}

export function readRequest(event: APIGatewayProxyEventV2, requestId: string): ApiRequest {
  const header = (name: string) => event.headers[name.toLowerCase()];
  return {
    method: event.requestContext.http.method,
    segments: event.rawPath.split("/").slice(1).map(decodedSegment),
    query: readQuery(event.rawQueryString),
    header,
    from: {
      request: requestId,
      ip: event.requestContext.http.sourceIp,
      agent: event.requestContext.http.userAgent,
    },
    json: () =>
      readJsonBody({
        body: event.body,
        isBase64Encoded: event.isBase64Encoded,
        contentType: header("content-type"),
        contentEncoding: header("content-encoding"),
      }),
  };
}

/**
 * API Gateway has decoded the path already; other front ends have not. A key cannot hold a `%`, so one that is left
 * can only mean the latter.
 */
function decodedSegment(segment: string): string {
  if (!segment.includes("%")) return segment;
  return decoded(segment) ?? refuse("path", "The path is not understood.");
}

function readQuery(raw: string): Record<string, string> {
  if (decoded(raw.replaceAll("+", " ")) === null) return refuse("query", "The query is not understood.");
  const members = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(raw)) {
    if (members.has(name)) {
      throw new Refusal("invalid", "The query is not understood.", [
        { path: name.slice(0, 100), message: "is given twice" },
      ]);
    }
    members.set(name, value);
  }
  return Object.fromEntries(members);
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function refuse(path: string, detail: string): never {
  throw new Refusal("invalid", detail, [{ path, message: "is not percent-encoded UTF-8" }]);
}
