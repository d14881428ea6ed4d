import type { SQSClientConfig } from "@aws-sdk/client-sqs";
import { required } from "./environment.ts";

/**
 * Replaces `@aws-sdk/credential-provider-node` in a function's bundle. Lambda puts the credentials
 * of a function's role into its environment; other sources (profiles, single sign-on, processes,
 * instance metadata) do not exist there.
 */
export const defaultProvider: NonNullable<SQSClientConfig["credentialDefaultProvider"]> = () => async () => {
  const sessionToken = process.env["AWS_SESSION_TOKEN"];
  return {
    accessKeyId: required(process.env, "AWS_ACCESS_KEY_ID"),
    secretAccessKey: required(process.env, "AWS_SECRET_ACCESS_KEY"),
    ...(sessionToken === undefined ? {} : { sessionToken }),
  };
};
