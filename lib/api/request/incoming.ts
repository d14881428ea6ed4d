import type { APIGatewayProxyEvent, APIGatewayProxyEventV2 } from "aws-lambda";

/**
 * The events of API Gateway's two kinds of API: an HTTP API sends payload format 2.0, a REST API
 * sends 1.0.
 */
export type GatewayEvent = APIGatewayProxyEventV2 | APIGatewayProxyEvent;

/** A request in one form for both kinds of API. */
export interface Incoming {
  method: string;
  /** Begins with a slash; decoded once. */
  path: string;
  /** The part of the address before the path, such as the stage of a REST API; mostly empty. */
  base: string;
  /** The query string without its question mark. */
  query: string;
  /** By lower-case name. */
  headers: Readonly<Record<string, string | undefined>>;
  body: string | undefined;
  isBase64Encoded: boolean;
  ip: string;
  agent: string;
  /** The facts that the gateway itself has found out about the caller; a request cannot set them. */
  context: object;
}

export function incomingFrom(event: GatewayEvent): Incoming {
  return "rawPath" in event ? fromHttpApi(event) : fromRestApi(event);
}

function fromHttpApi(event: APIGatewayProxyEventV2): Incoming {
  const { http } = event.requestContext;
  return {
    method: http.method,
    path: event.rawPath,
    base: "",
    query: event.rawQueryString,
    headers: event.headers,
    body: event.body,
    isBase64Encoded: event.isBase64Encoded,
    ip: http.sourceIp,
    agent: http.userAgent,
    context: event.requestContext,
  };
}

function fromRestApi(event: APIGatewayProxyEvent): Incoming {
  const { identity, path: wholePath } = event.requestContext;
  const path = restPath(event);
  return {
    method: event.httpMethod,
    path,
    base: baseOf(wholePath, path),
    query: restQuery(event),
    headers: restHeaders(event),
    body: event.body ?? undefined,
    isBase64Encoded: event.isBase64Encoded,
    ip: identity.sourceIp,
    agent: identity.userAgent ?? "",
    context: event.requestContext,
  };
}

/**
 * The event's own `path` sometimes contains the stage or the domain's base path; the matched
 * resource never does.
 */
function restPath({ resource, pathParameters }: APIGatewayProxyEvent): string {
  return resource.replace("{proxy+}", (all) => pathParameters?.["proxy"] ?? all);
}

/**
 * The part of the whole path before `path`. Empty also if the whole path does not end with `path`,
 * encoded or decoded.
 */
function baseOf(wholePath: string, path: string): string {
  const spelling = [wholePath, decoded(wholePath)].find((each) => each.endsWith(path));
  return spelling === undefined ? "" : spelling.slice(0, spelling.length - path.length);
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/**
 * A REST API sends the query parsed; it is joined again, so that both kinds of API are read alike.
 */
function restQuery({ multiValueQueryStringParameters }: APIGatewayProxyEvent): string {
  const members = Object.entries(multiValueQueryStringParameters ?? {});
  return new URLSearchParams(
    members.flatMap(([name, values = []]) => values.map((value): [string, string] => [name, value])),
  ).toString();
}

/** Names come in the caller's spelling, and repeated headers come as a list. */
function restHeaders({ multiValueHeaders }: APIGatewayProxyEvent): Record<string, string> {
  // The test page of the console sends no headers.
  const sent = Object.entries(multiValueHeaders ?? {});
  const joined = new Map<string, string[]>();
  for (const [name, values = []] of sent)
    joined.set(name.toLowerCase(), [...(joined.get(name.toLowerCase()) ?? []), ...values]);
  return Object.fromEntries([...joined].map(([name, values]) => [name, values.join(",")]));
}
