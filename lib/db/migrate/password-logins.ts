import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import type { Tx } from "../connect.ts";
import { lockLogins } from "../locks.ts";
import { type FunctionRole, letIn } from "./iam-logins.ts";

/** Lets the functions' roles log in with these passwords, for servers without IAM. */
export async function setPasswordLogins(
  tx: Tx,
  logins: readonly { role: FunctionRole; password: string }[],
): Promise<void> {
  await lockLogins(tx);
  for (const { role, password } of logins) {
    await leaveIam(tx, role);
    // The text holds only base64 and signs without meaning in SQL, and `alter role` takes no
    // parameters.
    await tx.unsafe(`alter role ${role} password '${scramVerifier(password)}'`);
    await letIn(tx, role, "closed");
  }
}

/**
 * Takes the role out of `rds_iam`, where a deployment with logins by IAM has put it: RDS demands a
 * token of every member, even of one with a password.
 */
async function leaveIam(tx: Tx, role: FunctionRole): Promise<void> {
  const isMember = async () => {
    const [membership] = await tx`
      select from pg_auth_members where roleid = (select oid from pg_roles where rolname = 'rds_iam') and member = ${role}::regrole`;
    return membership !== undefined;
  };
  if (!(await isMember())) return;
  await tx`revoke rds_iam from ${tx(role)}`;
  // Revoking a membership that another role granted changes nothing, and only warns.
  if (await isMember())
    throw new Error(
      `${role} is a member of rds_iam, so RDS refuses its password. Another role granted that membership: revoke it as that role, and deploy again.`,
    );
}

const ITERATIONS = 4_096;

/**
 * The form in which Postgres stores a password. It is computed here, because a password in a
 * statement would appear in the server's log when that statement is logged.
 */
export function scramVerifier(password: string, salt: Buffer = randomBytes(16)): string {
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, "sha256");
  const keyed = (text: string) => createHmac("sha256", salted).update(text).digest();
  const stored = createHash("sha256").update(keyed("Client Key")).digest();
  const parts = [stored, keyed("Server Key")].map((key) => key.toString("base64"));
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString("base64")}$${parts.join(":")}`;
}
