import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { z } from "zod";

/** The deployment to test, and the access to it. */
export interface SmokeSettings {
  url: string;
  token: string;
  /** The URL of the queue of commands. Undefined: commands are not tested. */
  ingestQueueUrl: string | undefined;
}

/**
 * An empty variable counts as missing, so that a shell's `${UNSET}` is reported as missing and not
 * as invalid.
 */
const given = z
  .string()
  .transform((text) => (text === "" ? undefined : text))
  .optional();

const environment = z.object({
  CARILLON_URL: given.pipe(
    z.url({ protocol: /^https?$/, error: "CARILLON_URL takes the address of the API: the output ApiUrl" }),
  ),
  CARILLON_TOKEN: given,
  CARILLON_TOKEN_SECRET: given,
  INGEST_QUEUE_URL: given,
  AWS_REGION: given.pipe(z.string({ error: "AWS_REGION takes the region of the queues, such as us-east-1" })),
});

/**
 * AWS or an emulator is found as by the SDK: by AWS_REGION, AWS_ENDPOINT_URL and the credentials.
 */
export async function smokeSettings(env: NodeJS.ProcessEnv): Promise<SmokeSettings> {
  const read = environment.safeParse(env);
  if (!read.success) throw new Error(read.error.issues.map(({ message }) => message).join("\n"));
  const { CARILLON_URL: url, CARILLON_TOKEN: token, CARILLON_TOKEN_SECRET: secret } = read.data;
  if (token === undefined && secret === undefined)
    throw new Error(
      "CARILLON_TOKEN takes an admin token, or CARILLON_TOKEN_SECRET a secret with one: the output AdminTokenSecret",
    );
  return {
    // A REST API's path begins with its stage; the slash at the end of the output is not part of
    // it.
    url: url.replace(/\/$/, ""),
    token: token ?? (await secretValue(secret)),
    ingestQueueUrl: read.data.INGEST_QUEUE_URL,
  };
}

async function secretValue(id: string | undefined): Promise<string> {
  const secrets = new SecretsManagerClient({});
  try {
    const { SecretString } = await secrets.send(new GetSecretValueCommand({ SecretId: id }));
    if (SecretString === undefined) throw new Error(`The secret ${id} has no text.`);
    return SecretString;
  } finally {
    secrets.destroy();
  }
}
