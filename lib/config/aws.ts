import { type Environment, required } from "./environment.ts";

/** How a client of the AWS SDK reaches its service. */
export interface AwsClientSettings {
  region: string;
  endpoint?: string;
  credentials?: { accessKeyId: string; secretAccessKey: string };
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
  const endpoint = env[`AWS_ENDPOINT_URL_${service}`];
  if (endpoint === undefined || endpoint === "") return { region };
  const accessKeyId = env["AWS_ACCESS_KEY_ID"];
  const secretAccessKey = env["AWS_SECRET_ACCESS_KEY"];
  if (accessKeyId === undefined || secretAccessKey === undefined) return { region, endpoint };
  return { region, endpoint, credentials: { accessKeyId, secretAccessKey } };
}
