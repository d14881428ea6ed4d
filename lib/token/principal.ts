import { createHash, randomUUID } from "node:crypto";
import type { Tx } from "../db/connect.ts";
import { sqlState, violatedConstraint } from "../db/sql-state.ts";
import { Refusal } from "../refusal.ts";
import { keyFault } from "../schedule/shape/schedule-key.ts";
import { hashOf } from "./secret.ts";
import { type PresentedToken, presentedBy, type Scope } from "./token.ts";
import { tokenNameMax } from "./token-name.ts";

/** Somebody for whom the gateway vouches, and what they may do, as this request says. */
export interface Principal {
  /** Stands as the actor wherever something was done by them. */
  name: string;
  /** What tells them from all others. */
  identity: string;
  scope: Scope;
  prefix: string | null;
}

/** Such as `iam:123456789012:role:billing`: of the account and the last part of its ARN, since a token's name holds no slash. */
export function iamName({ account, kind, name }: { account: string; kind: string; name: string }): string {
  return `iam:${account}:${kind}:${name}`;
}

/** `jwt:` and the subject, or a hash of it where that is too long or holds what stands in no name. */
export function jwtName(subject: string): string {
  const plain = `jwt:${subject}`;
  if (keyFault(plain, tokenNameMax) === null) return plain;
  return `jwt:${createHash("sha256").update(subject).digest("hex").slice(0, 40)}`;
}

/**
 * A principal as a token: a row of their own makes rates, holds, audit and what is kept of requests be theirs as if they had one. What
 * they may do is what this request says, and the row tells of the last one.
 */
export async function findPrincipal(sql: Tx, principal: Principal): Promise<PresentedToken> {
  const { scope, prefix } = principal;
  // No header can carry this as a bearer: it has a blank in it.
  const hash = hashOf(`principal ${principal.identity}`);
  const known = await presentedBy(sql, hash);
  if (known !== null && known.scope === scope && known.prefix === prefix) return known;
  await keepPrincipal(sql, principal, hash);
  const kept = await presentedBy(sql, hash);
  if (kept === null) throw new Error(`The row of ${principal.name} is gone as soon as it was written.`);
  // Another request of theirs may have come between, with other powers than this one.
  return { ...kept, scope, prefix };
}

async function keepPrincipal(sql: Tx, { name, scope, prefix }: Principal, hash: Buffer): Promise<void> {
  try {
    await sql`
      insert into carillon.tokens as t (id, hash, name, scope, prefix, created_at, created_by)
      values (${randomUUID()}, ${hash}, ${name}, ${scope}, ${prefix}, carillon.clock(), 'carillon')
      on conflict (hash) do update set scope = excluded.scope, prefix = excluded.prefix
      where (t.scope, t.prefix) is distinct from (excluded.scope, excluded.prefix)`;
  } catch (error) {
    if (sqlState(error) !== "unique_violation" || violatedConstraint(error) !== "tokens_name") throw error;
    throw new Refusal(
      "forbidden",
      `You would be known as ${JSON.stringify(name)}, which is the name of a token: an admin has to delete that one first.`,
    );
  }
}
