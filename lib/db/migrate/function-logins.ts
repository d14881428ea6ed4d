import type { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import * as z from "zod";
import { type Environment, flag, required } from "../../config/environment.ts";
import type { Tx } from "../connect.ts";
import { passwordIn } from "../role-secret.ts";
import { secretText } from "./connect-as-owner.ts";
import { functionRoles, grantIamLogins } from "./iam-logins.ts";
import { setPasswordLogins } from "./password-logins.ts";

const arnByRole = z.record(z.enum(functionRoles), z.string().min(1));

/**
 * Returns the step that gives the functions' roles their logins. They log in by IAM on RDS, with or
 * without a proxy (`DATABASE_PROXY`), or with `DATABASE_AUTH=secret` by passwords.
 * `DATABASE_ROLE_SECRET_ARNS` names their secrets, as a JSON object of ARNs by role. The secrets
 * are read before the transaction that writes the passwords.
 */
export async function functionLogins(
  env: Environment,
  secrets: SecretsManagerClient,
): Promise<(tx: Tx) => Promise<void>> {
  if (env["DATABASE_AUTH"] !== "secret") {
    const idleSessions = flag(env, "DATABASE_PROXY") ? "kept" : "closed";
    return (tx) => grantIamLogins(tx, idleSessions);
  }
  const arns = arnByRole.safeParse(JSON.parse(required(env, "DATABASE_ROLE_SECRET_ARNS")));
  if (!arns.success)
    throw new Error("DATABASE_ROLE_SECRET_ARNS names no secret for some of the functions' roles.");
  const reading = functionRoles.map(async (role) => {
    const arn = arns.data[role];
    return { role, password: passwordIn(arn, await secretText(secrets, arn)) };
  });
  const logins = await Promise.all(reading);
  return (tx) => setPasswordLogins(tx, logins);
}
