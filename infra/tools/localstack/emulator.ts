import { spawn } from "node:child_process";
import {
  CreateSecretCommand,
  DescribeSecretCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  SecretsManagerClient,
} from "@aws-sdk/client-secrets-manager";
import { sendingTimeouts } from "../../../lib/config/aws.ts";

/**
 * Variables that point the CLI and the SDK to an emulator. The emulator accepts any credentials.
 */
export interface EmulatorEnvironment {
  readonly AWS_ENDPOINT_URL: string;
  readonly AWS_REGION: string;
  readonly AWS_ACCESS_KEY_ID: string;
  readonly AWS_SECRET_ACCESS_KEY: string;
}

export function emulatorAt(url: string): EmulatorEnvironment {
  if (/\.amazonaws\.com/.test(url)) throw new Error(`${url} is AWS itself; this is for an emulator.`);
  return {
    AWS_ENDPOINT_URL: url,
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
  };
}

/** The emulator's only account; the bootstrap needs it as an argument. */
export const emulatedAccount = "000000000000";

const OWNER_SECRET = "carillon/owner";

/**
 * The ARN of the secret that the migration uses to log in to a Postgres. The secret is created or
 * updated.
 */
export async function ownerSecret(databaseUrl: string, emulator: EmulatorEnvironment): Promise<string> {
  const { username, password } = new URL(databaseUrl);
  const SecretString = JSON.stringify({
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
  });
  const secrets = new SecretsManagerClient({
    endpoint: emulator.AWS_ENDPOINT_URL,
    region: emulator.AWS_REGION,
    credentials: { accessKeyId: emulator.AWS_ACCESS_KEY_ID, secretAccessKey: emulator.AWS_SECRET_ACCESS_KEY },
    requestHandler: sendingTimeouts,
  });
  try {
    const { ARN } = await secrets.send(new DescribeSecretCommand({ SecretId: OWNER_SECRET }));
    await secrets.send(new PutSecretValueCommand({ SecretId: OWNER_SECRET, SecretString }));
    return definedArn(ARN);
  } catch (error) {
    if (!(error instanceof ResourceNotFoundException)) throw error;
    return definedArn(
      (await secrets.send(new CreateSecretCommand({ Name: OWNER_SECRET, SecretString }))).ARN,
    );
  } finally {
    secrets.destroy();
  }
}

function definedArn(arn: string | undefined): string {
  if (arn === undefined) throw new Error(`The emulator returned no ARN for the secret ${OWNER_SECRET}.`);
  return arn;
}

/** The settings as arguments of the CLI. */
export function asContext(settings: object): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ["-c", `carillon:${name}=${value}`]);
}

/**
 * Runs the unmodified CDK CLI, pointed to the emulator by variables only; throws when the CLI
 * fails.
 */
export async function cdk(args: readonly string[], emulator: EmulatorEnvironment): Promise<void> {
  // A profile would override these variables and deploy to a real account.
  const { AWS_PROFILE: _, AWS_DEFAULT_PROFILE: __, AWS_SESSION_TOKEN: ___, ...env } = process.env;
  const child = spawn("cdk", args, { env: { ...env, ...emulator }, stdio: "inherit" });
  const code = await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  if (code !== 0) throw new Error(`cdk ${args[0]} exited with code ${code}.`);
}
