import { type Environment, required } from "./environment.ts";

/** How long one request may take, in milliseconds. What is left out has no end in the SDK. */
export interface RequestLimits {
  connectionTimeout: number;
  /** Until the answer begins. */
  requestTimeout: number;
  /** Without a byte in either direction: an answer that has begun and stops is under no other limit. */
  socketTimeout: number;
  /** Without it the SDK writes a warning and goes on waiting. */
  throwOnRequestTimeout: true;
}

export function requestLimits(ms: number): RequestLimits {
  return {
    connectionTimeout: Math.min(ms, 2_000),
    requestTimeout: ms,
    socketTimeout: ms,
    throwOnRequestTimeout: true,
  };
}

/** Of a request that is small and answered in milliseconds. */
export const sendingTimeouts = requestLimits(4_000);

export const attemptsMax = 3;

/** With the pauses between them all attempts of a request are over by then. Every function keeps as much for what it has begun. */
export const requestMsMax = 14_000;

/** How a client of the AWS SDK reaches its service. */
export interface AwsClientSettings {
  region: string;
  endpoint?: string;
  credentials?: { accessKeyId: string; secretAccessKey: string };
  /**
   * The steps of a request that has no options of its own are put together once for each command, and not for each request: that was a third of what one
   * costs. Worth it, and known to be the same for every request, where thousands are sent to one endpoint.
   */
  cacheMiddleware: boolean;
  requestHandler: RequestLimits;
  maxAttempts: number;
}

/**
 * In AWS the SDK finds its endpoint and credentials by itself. Locally both stand in the environment that the function was
 * given, which is not this process's own.
 */
export function awsClientSettings(
  env: Environment,
  service: "SQS" | "EVENTBRIDGE" | "LAMBDA" | "SECRETS_MANAGER" | "S3",
  limits: RequestLimits = sendingTimeouts,
): AwsClientSettings {
  const own = {
    region: required(env, "AWS_REGION"),
    cacheMiddleware: service === "SQS" || service === "EVENTBRIDGE",
    requestHandler: limits,
    maxAttempts: attemptsMax,
  };
  const endpoint = env[`AWS_ENDPOINT_URL_${service}`];
  if (endpoint === undefined || endpoint === "") return own;
  const accessKeyId = env["AWS_ACCESS_KEY_ID"];
  const secretAccessKey = env["AWS_SECRET_ACCESS_KEY"];
  if (accessKeyId === undefined || secretAccessKey === undefined) return { ...own, endpoint };
  return { ...own, endpoint, credentials: { accessKeyId, secretAccessKey } };
}

/** Whether a request ended because the service said nothing in time. Another one would wait as long. */
export function gotNoAnswer(error: unknown): boolean {
  return error instanceof Error && error.name === "TimeoutError";
}

/** The part of an AWS SDK client that holds the steps of each request. */
interface Requesting {
  middlewareStack: { remove(name: string): boolean };
}

/**
 * The same client without the SDK's own log, which nobody reads: for it each request and each answer is copied, whether it is written or not. That was a
 * seventh of what a worker does for a queue.
 */
export function withoutSdkLog<Client extends Requesting>(client: Client): Client {
  client.middlewareStack.remove("loggerMiddleware");
  return client;
}
