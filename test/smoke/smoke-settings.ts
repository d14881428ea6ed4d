import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { z } from "zod";

/** Which deployment is tried, and by what. */
export interface SmokeSettings {
  url: string;
  token: string;
  /** Of the queue of commands. None: that way is not tried. */
  ingestQueueUrl: string | undefined;
}

/** Empty is not given: so a shell's `${UNSET}` says what is missing, not that something is wrong. */
const given = z
  .string()
  .transform((text) => (text === "" ? undefined : text))
  .optional();

const environment = z.object({
  CARILLON_URL: given.pipe(
    z.url({ protocol: /^https?$/, error: "CARILLON_URL takes where the API answers: the output ApiUrl" }),
  ),
  CARILLON_TOKEN: given,
  CARILLON_TOKEN_SECRET: given,
  INGEST_QUEUE_URL: given,
  AWS_REGION: given.pipe(z.string({ error: "AWS_REGION takes the region of the queues, such as us-east-1" })),
});

/** AWS itself, or what stands in for it, is found as the SDK finds it: by AWS_REGION, AWS_ENDPOINT_URL and the credentials beside them. */
export async function smokeSettings(env: NodeJS.ProcessEnv): Promise<SmokeSettings> {
  const read = environment.safeParse(env);
  if (!read.success) throw new Error(read.error.issues.map(({ message }) => message).join("\n"));
  const { CARILLON_URL: url, CARILLON_TOKEN: token, CARILLON_TOKEN_SECRET: secret } = read.data;
  if (token === undefined && secret === undefined)
    throw new Error(
      "CARILLON_TOKEN takes an admin token, or CARILLON_TOKEN_SECRET the secret that holds one: the output AdminTokenSecret",
    );
  return {
    // A REST API answers below its stage; the slash at the end of the output is none of the path's.
    url: url.replace(/\/$/, ""),
    token: token ?? (await secretValue(secret)),
    ingestQueueUrl: read.data.INGEST_QUEUE_URL,
  };
}

async function secretValue(id: string | undefined): Promise<string> {
  const secrets = new SecretsManagerClient({});
  try {
    const { SecretString } = await secrets.send(new GetSecretValueCommand({ SecretId: id }));
    if (SecretString === undefined) throw new Error(`The secret ${id} holds no text.`);
    return SecretString;
  } finally {
    secrets.destroy();
  }
}
