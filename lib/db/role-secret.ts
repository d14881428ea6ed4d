import {
  GetSecretValueCommand,
  ResourceNotFoundException,
  SecretsManagerClient,
} from "@aws-sdk/client-secrets-manager";
import * as z from "zod";
import { awsClientSettings, requestLimits } from "../config/aws.ts";
import { type Environment, required } from "../config/environment.ts";
import type { Passwords } from "./admitted-line.ts";
import { ConnectionLost } from "./connection-lost.ts";

const loginSecret = z.object({ password: z.string().min(1) });

/** Secrets Manager also keeps the password before the current one. */
const stages = ["AWSCURRENT", "AWSPREVIOUS"] as const;
type Stage = (typeof stages)[number];

/** A connect waits for both stages, and every statement waits for the connect. */
const limits = requestLimits(3_000);

/**
 * The password of a function's role, from Secrets Manager by `DATABASE_SECRET_ARN`. It is read at
 * the first connect and kept until the server refuses it. During a rotation, secret and server
 * differ for a moment, in either order; so the previous password counts too.
 */
export function roleSecret(env: Environment): Passwords {
  const arn = required(env, "DATABASE_SECRET_ARN");
  const settings = awsClientSettings(env, "SECRETS_MANAGER", limits);
  const secrets = new SecretsManagerClient({ ...settings, maxAttempts: 2 });
  let kept: string | undefined;
  return {
    candidates: async function* () {
      const tried = new Set<string>();
      if (kept !== undefined) {
        tried.add(kept);
        yield kept;
      }
      for (const stage of stages) {
        const password = await passwordOf(secrets, arn, stage);
        if (password === undefined || tried.has(password)) continue;
        tried.add(password);
        yield password;
      }
    },
    keep: (password) => {
      kept = password;
    },
  };
}

async function passwordOf(
  secrets: SecretsManagerClient,
  arn: string,
  stage: Stage,
): Promise<string | undefined> {
  const command = new GetSecretValueCommand({ SecretId: arn, VersionStage: stage });
  try {
    const { SecretString } = await secrets.send(command);
    return passwordIn(arn, SecretString ?? "");
  } catch (error) {
    // A secret that was never rotated has no previous version.
    if (stage === "AWSPREVIOUS" && error instanceof ResourceNotFoundException) return undefined;
    throw new ConnectionLost("the secret with its password could not be read", error);
  }
}

/** The error contains nothing of the secret: errors of JSON and zod quote their input. */
export function passwordIn(arn: string, text: string): string {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    read = undefined;
  }
  const secret = loginSecret.safeParse(read);
  if (!secret.success) throw new Error(`The secret ${arn} holds no JSON object with a text "password".`);
  return secret.data.password;
}
