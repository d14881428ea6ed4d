import type { APIGatewayProxyEvent, APIGatewayProxyEventV2 } from "aws-lambda";

/** What the two kinds of API in API Gateway send: an HTTP API payload format 2.0, a REST API what is called 1.0. */
export type GatewayEvent = APIGatewayProxyEventV2 | APIGatewayProxyEvent;

/** A request as it came in, whichever kind of gateway handed it on. */
export interface Incoming {
  method: string;
  /** Begins with a slash; decoded once. */
  path: string;
  /** What stands before the path in the address by which it was asked for, such as the stage of a REST API; mostly empty. */
  base: string;
  /** As behind the question mark, without it. */
  query: string;
  /** By their names in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  body: string | undefined;
  isBase64Encoded: boolean;
  ip: string;
  agent: string;
  /** What the gateway has found out about the request; nothing in it was written by whoever sent that. */
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

/** Its own `path` holds the stage and what a domain maps to it in some cases and in others not; what the resource has matched never does. */
function restPath({ resource, pathParameters }: APIGatewayProxyEvent): string {
  const proxied = pathParameters?.["proxy"];
  return proxied === undefined ? resource : `/${proxied}`;
}

/** Empty also where the gateway's two spellings of one path cannot be told to be that. */
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

/** The gateway has taken it apart; put together again, it is read as that of the other kind is. */
function restQuery({ multiValueQueryStringParameters }: APIGatewayProxyEvent): string {
  const members = Object.entries(multiValueQueryStringParameters ?? {});
  return new URLSearchParams(
    members.flatMap(([name, values = []]) => values.map((value): [string, string] => [name, value])),
  ).toString();
}

/** Their names come as they were sent, and what was sent more than once comes as a list. */
function restHeaders({ multiValueHeaders }: APIGatewayProxyEvent): Record<string, string> {
  // None come where a request is made from the console's test page.
  const sent = Object.entries(multiValueHeaders ?? {});
  const joined = new Map<string, string[]>();
  for (const [name, values = []] of sent)
    joined.set(name.toLowerCase(), [...(joined.get(name.toLowerCase()) ?? []), ...values]);
  return Object.fromEntries([...joined].map(([name, values]) => [name, values.join(",")]));
}
