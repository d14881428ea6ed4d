import type { APIGatewayProxyEvent, APIGatewayProxyEventV2 } from "aws-lambda";
import { z } from "zod";

const stage = "v";

/**
 * Turns the event of an HTTP API into the one that a REST API sends for the same request. `before`
 * is the part of the address before the path: the stage, or nothing for an API with its own domain.
 */
export function restEvent(event: APIGatewayProxyEventV2, before = `/${stage}`): APIGatewayProxyEvent {
  const { rawPath, rawQueryString, headers, body, isBase64Encoded, requestContext } = event;
  const { method, sourceIp, userAgent } = requestContext.http;
  const query = multiValued(new URLSearchParams(rawQueryString));
  const sent = multiValued(Object.entries(headers).map(([name, value]) => [asWritten(name), value ?? ""]));
  const { resource, pathParameters } = matched(rawPath);
  return {
    resource,
    path: rawPath,
    httpMethod: method,
    headers: lastOf(sent),
    multiValueHeaders: sent,
    queryStringParameters: Object.keys(query).length === 0 ? null : lastOf(query),
    multiValueQueryStringParameters: Object.keys(query).length === 0 ? null : query,
    pathParameters,
    stageVariables: null,
    requestContext: {
      accountId: requestContext.accountId,
      apiId: requestContext.apiId,
      authorizer: null,
      protocol: "HTTP/1.1",
      httpMethod: method,
      identity: { ...nobody, sourceIp, userAgent, userArn: signerIn(requestContext) },
      path: `${before}${rawPath}`,
      stage,
      requestId: requestContext.requestId,
      requestTimeEpoch: requestContext.timeEpoch,
      resourceId: "abc123",
      resourcePath: resource,
    },
    body: body ?? null,
    isBase64Encoded,
  };
}

/** The resource of a REST API with a page, and the part of the path that it stands for. */
function matched(path: string): Pick<APIGatewayProxyEvent, "resource" | "pathParameters"> {
  if (["/", "/v1", "/health"].includes(path)) return { resource: path, pathParameters: null };
  const parent = path.startsWith("/v1/") ? "/v1/" : "/";
  return { resource: `${parent}{proxy+}`, pathParameters: { proxy: path.slice(parent.length) } };
}

/** The IAM principal in the event of an HTTP API, which a REST API sends in `identity`; or null. */
function signerIn(context: object): string | null {
  const signed = z.object({ authorizer: z.object({ iam: z.object({ userArn: z.string() }) }) });
  return signed.safeParse(context).data?.authorizer.iam.userArn ?? null;
}

/** Header names may have any spelling, so events here have an unusual one. */
function asWritten(name: string): string {
  return name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}

function multiValued(members: Iterable<[string, string]>): Record<string, string[]> {
  const values = new Map<string, string[]>();
  for (const [name, value] of members) values.set(name, [...(values.get(name) ?? []), value]);
  return Object.fromEntries(values);
}

function lastOf(multi: Record<string, string[]>): Record<string, string> {
  return Object.fromEntries(Object.entries(multi).map(([name, values]) => [name, values.at(-1) ?? ""]));
}

const nobody = {
  accessKey: null,
  accountId: null,
  apiKey: null,
  apiKeyId: null,
  caller: null,
  clientCert: null,
  cognitoAuthenticationProvider: null,
  cognitoAuthenticationType: null,
  cognitoIdentityId: null,
  cognitoIdentityPoolId: null,
  principalOrgId: null,
  user: null,
};
