import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import type { Tx } from "./connect.ts";
import { type FunctionRole, letIn } from "./iam-logins.ts";

/** Lets the functions' roles log in with these passwords, for servers that know no IAM. */
export async function setPasswordLogins(
  tx: Tx,
  logins: readonly { role: FunctionRole; password: string }[],
): Promise<void> {
  for (const { role, password } of logins) {
    // Only base64 and signs that mean nothing in SQL; and no statement of this kind takes parameters.
    await tx.unsafe(`alter role ${role} password '${scramVerifier(password)}'`);
    await letIn(tx, role, "closed");
  }
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
