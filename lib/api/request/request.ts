import { Refusal } from "../../refusal.ts";
import type { Origin } from "../../schedule/shape/caller.ts";
import type { Incoming } from "./incoming.ts";
import { readJsonBody } from "./json-body.ts";

/** An HTTP request as the routes see it: the query decoded, the body read only when a route asks for it. */
export interface ApiRequest {
  method: string;
  /** Of the path, as it came. */
  segments: readonly string[];
  query: Readonly<Record<string, string>>;
  header(name: string): string | undefined;
  /** Where it comes from. */
  from: Pick<Origin, "request" | "ip" | "agent">;
  /** Undefined where no body was sent. */
  json(): unknown;
}

export function readRequest(incoming: Incoming, requestId: string): ApiRequest {
  const header = (name: string) => incoming.headers[name.toLowerCase()];
  return {
    method: incoming.method,
    segments: incoming.path.split("/").slice(1),
    query: readQuery(incoming.query),
    header,
    from: { request: requestId, ip: incoming.ip, agent: incoming.agent },
    json: () =>
      readJsonBody({
        body: incoming.body,
        isBase64Encoded: incoming.isBase64Encoded,
        contentType: header("content-type"),
        contentEncoding: header("content-encoding"),
      }),
  };
}

/**
 * API Gateway has decoded the path already; other front ends have not. A key cannot hold a `%`, so one that is left
 * can only mean the latter. What stands in the routes themselves is not decoded again: `/v1/%74okens` would else be
 * `/v1/tokens` here, and something else for a policy of IAM or a firewall that lets it pass by its path.
 */
export function decodedSegment(segment: string): string {
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
