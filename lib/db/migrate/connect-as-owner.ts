import { GetSecretValueCommand, type SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import * as z from "zod";
import { type Environment, required } from "../../config/environment.ts";
import { type ConnectOptions, connectAs, namedDatabase } from "../connect.ts";
import type { Sql } from "../sql.ts";

const masterSecret = z.object({ username: z.string().min(1), password: z.string().min(1) });

/**
 * Connects as the owner of the database, with the secret of the master user
 * (`DATABASE_SECRET_ARN`). Each connect reads the secret, since RDS rotates it. For migrations
 * only, and apart from `connect`, so that no other bundle contains this client.
 */
export async function connectAsOwner(
  env: Environment,
  secrets: SecretsManagerClient,
  options: ConnectOptions = {},
): Promise<Sql> {
  const read = async () => {
    const text = await secretText(secrets, required(env, "DATABASE_SECRET_ARN"));
    return accountIn(text);
  };
  const { username } = await read();
  const account = {
    ...namedDatabase(env),
    user: username,
    password: async () => (await read()).password,
  };
  return connectAs(account, options);
}

/** The error contains nothing of the secret: errors of JSON and zod may quote it. */
function accountIn(text: string): z.output<typeof masterSecret> {
  try {
    return masterSecret.parse(JSON.parse(text));
  } catch {
    throw new Error(
      "The database's secret holds no username and password: it takes a JSON object with the two.",
    );
  }
}

export async function secretText(secrets: SecretsManagerClient, arn: string): Promise<string> {
  const { SecretString } = await secrets.send(new GetSecretValueCommand({ SecretId: arn }));
  if (SecretString === undefined) throw new Error(`The secret ${arn} holds no text.`);
  return SecretString;
}
