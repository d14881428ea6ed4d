import { type Environment, required } from "./environment.ts";

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
}

/**
 * In AWS the SDK finds its endpoint and credentials by itself. Locally both stand in the environment that the function was
 * given, which is not this process's own.
 */
export function awsClientSettings(
  env: Environment,
  service: "SQS" | "EVENTBRIDGE" | "LAMBDA" | "SECRETS_MANAGER" | "S3",
): AwsClientSettings {
  const region = required(env, "AWS_REGION");
  const own = { region, cacheMiddleware: service === "SQS" || service === "EVENTBRIDGE" };
  const endpoint = env[`AWS_ENDPOINT_URL_${service}`];
  if (endpoint === undefined || endpoint === "") return own;
  const accessKeyId = env["AWS_ACCESS_KEY_ID"];
  const secretAccessKey = env["AWS_SECRET_ACCESS_KEY"];
  if (accessKeyId === undefined || secretAccessKey === undefined) return { ...own, endpoint };
  return { ...own, endpoint, credentials: { accessKeyId, secretAccessKey } };
}

/**
 * For clients that only send: the SDK waits for ever for an answer, and with one request that gets none a worker would keep all of its parcels until it is
 * stopped itself. It is tried again after that, twice by default, which is over before a worker of quick deliveries has to end.
 */
export const sendingTimeouts = {
  connectionTimeout: 2_000,
  requestTimeout: 10_000,
  throwOnRequestTimeout: true,
};

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
