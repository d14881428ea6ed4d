import type { APIGatewayProxyEventV2 } from "aws-lambda";

export interface EventParts {
  query?: string;
  headers?: Record<string, string>;
  /** A string is sent unchanged, any other value as JSON. */
  body?: unknown;
  isBase64Encoded?: boolean;
  /** The User-Agent header. */
  agent?: string;
  /** The gateway's findings about the caller. Default: none. */
  authorizer?: object | undefined;
}

/** An event of an HTTP API of API Gateway (payload format 2.0); `path` is already decoded. */
export function httpEvent(method: string, path: string, parts: EventParts = {}): APIGatewayProxyEventV2 {
  const { query = "", headers = {}, body, isBase64Encoded = false, agent = "test", authorizer } = parts;
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  return {
    version: "2.0",
    routeKey: "$default",
    rawPath: path,
    rawQueryString: query,
    headers: { ...(text === undefined ? {} : { "content-type": "application/json" }), ...headers },
    requestContext: {
      accountId: "000000000000",
      apiId: "api",
      domainName: "api.example.com",
      domainPrefix: "api",
      http: { method, path, protocol: "HTTP/1.1", sourceIp: "127.0.0.1", userAgent: agent },
      requestId: "gateway-request",
      routeKey: "$default",
      stage: "$default",
      time: "01/Jan/2026:00:00:00 +0000",
      timeEpoch: 1_767_225_600_000,
      ...(authorizer === undefined ? {} : { authorizer }),
    },
    ...(text === undefined ? {} : { body: text }),
    isBase64Encoded,
  };
}

export const invocation = { awsRequestId: "request-1", getRemainingTimeInMillis: () => 30_000 };
