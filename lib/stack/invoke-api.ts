import type { LambdaClient } from "@aws-sdk/client-lambda";
import type { APIGatewayProxyEventV2 } from "aws-lambda";
import * as z from "zod";
import type { StackCaller } from "../config/stack-caller.ts";
import { callFunction } from "../target/invoke-function.ts";

export interface ApiFunction {
  lambda: LambdaClient;
  /** The name of the API's function. */
  name: string;
}

const answered = z.object({
  statusCode: z.int().min(200).max(599),
  headers: z.record(z.string(), z.string()).default({}),
  body: z.string().default(""),
});

/**
 * A `fetch` for Carillon's client that invokes the API's function without its gateway, in the name
 * of a stack: it needs no token, and no address of the API.
 */
export function fetchFromFunction(api: ApiFunction, caller: StackCaller): typeof globalThis.fetch {
  return async (input, { method = "GET", headers, body, signal } = {}) => {
    const url = new URL(String(input));
    const event = eventOf({ method, url, headers: new Headers(headers), body: String(body ?? "") }, caller);
    const text = await callFunction(api.lambda, {
      name: api.name,
      payload: JSON.stringify(event),
      signal: signal ?? AbortSignal.timeout(answerMs),
    });
    const answer = answered.parse(JSON.parse(text));
    // A Response with status 204 takes no body, not even an empty one.
    return new Response(answer.body === "" ? null : answer.body, {
      status: answer.statusCode,
      headers: answer.headers,
    });
  };
}

/** A little longer than the API's own timeout, whose error says more. */
export const answerMs = 32_000;

interface Sent {
  method: string;
  url: URL;
  headers: Headers;
  body: string;
}

/** The event of an HTTP API for the request, with the stack in its context. */
function eventOf({ method, url, headers, body }: Sent, caller: StackCaller): APIGatewayProxyEventV2 {
  const path = decodeURIComponent(url.pathname);
  const http = { method, path, protocol: "HTTP/1.1", sourceIp: "", userAgent: "CloudFormation" };
  const context = {
    accountId: caller.account,
    apiId: "",
    domainName: "",
    domainPrefix: "",
    http,
    requestId: "",
    routeKey: "$default",
    stage: "$default",
    time: "",
    timeEpoch: 0,
    carillonStack: caller,
  };
  return {
    version: "2.0",
    routeKey: "$default",
    rawPath: path,
    rawQueryString: url.search.slice(1),
    headers: Object.fromEntries(headers),
    requestContext: context,
    ...(body === "" ? {} : { body }),
    isBase64Encoded: false,
  };
}
