import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import type { Tx } from "../connect.ts";
import { lockLogins } from "../locks.ts";
import { type FunctionRole, letIn } from "./iam-logins.ts";

/** Lets the functions' roles log in with these passwords, for servers that know no IAM. */
export async function setPasswordLogins(
  tx: Tx,
  logins: readonly { role: FunctionRole; password: string }[],
): Promise<void> {
  await lockLogins(tx);
  for (const { role, password } of logins) {
    await leaveIam(tx, role);
    // Only base64 and signs that mean nothing in SQL; and no statement of this kind takes parameters.
    await tx.unsafe(`alter role ${role} password '${scramVerifier(password)}'`);
    await letIn(tx, role, "closed");
  }
}

/** On RDS a member of `rds_iam` is asked for a token whatever password it has: one that a deployment by IAM had let in would be kept out. */
async function leaveIam(tx: Tx, role: FunctionRole): Promise<void> {
  const isMember = async () => {
    const [membership] = await tx`
      select from pg_auth_members where roleid = (select oid from pg_roles where rolname = 'rds_iam') and member = ${role}::regrole`;
    return membership !== undefined;
  };
  if (!(await isMember())) return;
  await tx`revoke rds_iam from ${tx(role)}`;
  // Who did not grant it takes nothing away, and hears no more than a warning.
  if (await isMember())
    throw new Error(
      `${role} is a member of rds_iam, by which RDS lets it in with no password. Somebody else has granted that: revoke it as they, and deploy again.`,
    );
}

const ITERATIONS = 4_096;

/** What Postgres keeps of a password, made here: a password in a statement would stand in the server's log when that statement is logged. */
export function scramVerifier(password: string, salt: Buffer = randomBytes(16)): string {
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, "sha256");
  const keyed = (text: string) => createHmac("sha256", salted).update(text).digest();
  const stored = createHash("sha256").update(keyed("Client Key")).digest();
  const parts = [stored, keyed("Server Key")].map((key) => key.toString("base64"));
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString("base64")}$${parts.join(":")}`;
}
