import { Refusal } from "../../refusal.ts";
import type { Origin } from "../../schedule/shape/caller.ts";
import type { Incoming } from "./incoming.ts";
import { readJsonBody } from "./json-body.ts";

/**
 * An HTTP request as the routes read it: the query is decoded; the body is read only when a route
 * needs it.
 */
export interface ApiRequest {
  method: string;
  /** Segments of the path, not decoded. */
  segments: readonly string[];
  query: Readonly<Record<string, string>>;
  header(name: string): string | undefined;
  /** The origin of the request, for the audit. */
  from: Pick<Origin, "request" | "ip" | "agent">;
  /** Undefined where the request has no body. */
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
 * API Gateway decodes the path; other front ends do not. A key cannot contain `%`, so a remaining
 * `%` means that the segment is still encoded. Fixed segments of the routes are not decoded:
 * `/v1/%74okens` would otherwise be `/v1/tokens` here, but another path for an IAM policy or a
 * firewall that lets it pass.
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
        { path: name.slice(0, 100), message: "is given more than once" },
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
