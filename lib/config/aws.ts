import { type Environment, required } from "./environment.ts";

/**
 * The limits of one request, in milliseconds. The SDK has no limit for a value that is left out.
 */
export interface RequestLimits {
  connectionTimeout: number;
  /** The longest wait until the answer begins. */
  requestTimeout: number;
  /**
   * The longest time without a byte in either direction. No other limit ends an answer that has
   * begun and then stops.
   */
  socketTimeout: number;
  /** Without it the SDK only logs a warning and continues to wait. */
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

/** The limits of a small request, which is answered in milliseconds. */
export const sendingTimeouts = requestLimits(4_000);

export const attemptsMax = 3;

/**
 * The limit of all attempts of a request together, with the pauses between them. Every function
 * keeps this much time in reserve for the requests that it has begun.
 */
export const requestMsMax = 14_000;

/** How a client of the AWS SDK reaches its service. */
export interface AwsClientSettings {
  region: string;
  endpoint?: string;
  credentials?: { accessKeyId: string; secretAccessKey: string };
  /**
   * Builds the steps of a request once for each command instead of once for each request, if the
   * request has no options of its own. Building them was a third of the cost of a request. It is
   * used for services that get thousands of requests at one endpoint, all with the same steps.
   */
  cacheMiddleware: boolean;
  requestHandler: RequestLimits;
  maxAttempts: number;
}

/**
 * The settings of a client. In AWS the SDK finds endpoint and credentials by itself. Locally both
 * are in the environment that the function was given, which is not that of the process.
 */
export function awsClientSettings(
  env: Environment,
  service: "SQS" | "EVENTBRIDGE" | "LAMBDA" | "SECRETS_MANAGER" | "S3" | "KMS",
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

/**
 * Whether a request ended because the service did not answer in time. A repeated request would wait
 * as long.
 */
export function gotNoAnswer(error: unknown): boolean {
  return error instanceof Error && error.name === "TimeoutError";
}

/** The part of an AWS SDK client that holds the steps of each request. */
interface Requesting {
  middlewareStack: { remove(name: string): boolean };
}

/**
 * The same client without the SDK's own log, which is not used. For that log the SDK copies each
 * request and each answer, even when it writes nothing: a seventh of the time that a worker spends
 * on a queue.
 */
export function withoutSdkLog<Client extends Requesting>(client: Client): Client {
  client.middlewareStack.remove("loggerMiddleware");
  return client;
}
