import type { SQSClientConfig } from "@aws-sdk/client-sqs";
import { required } from "./environment.ts";

/**
 * Stands in a function's bundle where the SDK has `@aws-sdk/credential-provider-node`. Lambda puts the credentials of a function's role
 * into its environment; profiles, single sign-on, other processes and the metadata of machines are not there to be asked.
 */
export const defaultProvider: NonNullable<SQSClientConfig["credentialDefaultProvider"]> = () => async () => {
  const sessionToken = process.env["AWS_SESSION_TOKEN"];
  return {
    accessKeyId: required(process.env, "AWS_ACCESS_KEY_ID"),
    secretAccessKey: required(process.env, "AWS_SECRET_ACCESS_KEY"),
    ...(sessionToken === undefined ? {} : { sessionToken }),
  };
};
