import { createHash, randomUUID } from "node:crypto";
import type { Tx } from "../db/connect.ts";
import { sqlState, violatedConstraint } from "../db/sql-state.ts";
import { makeTeam } from "../quota/team-list.ts";
import { Refusal } from "../refusal.ts";
import { keyFault } from "../schedule/shape/schedule-key.ts";
import { hashOf } from "./secret.ts";
import { type PresentedToken, presentedBy, type Scope } from "./token.ts";
import { tokenNameMax } from "./token-name.ts";

/** A caller that needs no token, with the rights that this request gives it. */
export interface Principal {
  /** The actor of its changes. */
  name: string;
  /** The identity that distinguishes it from all other principals. */
  identity: string;
  scope: Scope;
  prefix: string | null;
}

/**
 * Such as `iam:123456789012:role:billing`: the account and the last part of the ARN, since the name
 * of a token has no slash.
 */
export function iamName({ account, kind, name }: { account: string; kind: string; name: string }): string {
  return `iam:${account}:${kind}:${name}`;
}

/**
 * `jwt:` and the subject; or a hash of the subject if it is too long or has characters that a name
 * may not have.
 */
export function jwtName(subject: string): string {
  const plain = `jwt:${subject}`;
  if (keyFault(plain, tokenNameMax) === null) return plain;
  return `jwt:${createHash("sha256").update(subject).digest("hex").slice(0, 40)}`;
}

/** `stack:` and the name of the stack; the end of a name that is too long is a hash of it. */
export function stackName(name: string): string {
  const plain = `stack:${name}`;
  if (plain.length <= tokenNameMax) return plain;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 16);
  return `${plain.slice(0, tokenNameMax - hash.length - 1)}~${hash}`;
}

/**
 * Keeps a principal as a row of tokens, so that rates, holds, audit and kept requests work as for a
 * token. Its rights are those of this request; the row has the rights of the last one.
 */
export async function findPrincipal(sql: Tx, principal: Principal): Promise<PresentedToken> {
  const { scope, prefix } = principal;
  // No bearer in a header can equal this, since it has a blank.
  const hash = hashOf(`principal ${principal.identity}`);
  const known = await presentedBy(sql, hash);
  if (known !== null && known.scope === scope && known.prefix === prefix) return known;
  await keepPrincipal(sql, principal, hash);
  const kept = await presentedBy(sql, hash);
  if (kept === null) throw new Error(`The row of ${principal.name} was deleted right after it was written.`);
  // Another request of the same principal, with other rights, may have written the row meanwhile.
  return { ...kept, scope, prefix, team: prefix };
}

async function keepPrincipal(sql: Tx, { name, scope, prefix }: Principal, hash: Buffer): Promise<void> {
  if (prefix !== null && scope !== "read") await makeTeam(sql, prefix);
  try {
    await sql`
      insert into carillon.tokens as t (id, hash, name, scope, prefix, created_at, created_by)
      values (${randomUUID()}, ${hash}, ${name}, ${scope}, ${prefix}, carillon.clock(), 'carillon')
      on conflict (hash) do update set scope = excluded.scope, prefix = excluded.prefix
      where (t.scope, t.prefix) is distinct from (excluded.scope, excluded.prefix)`;
  } catch (error) {
    if (sqlState(error) !== "unique_violation" || violatedConstraint(error) !== "tokens_name") throw error;
    // The first requests of a principal may come at once. The later one then fails on the name of the earlier one's row.
    if ((await presentedBy(sql, hash)) !== null) return;
    throw new Refusal(
      "forbidden",
      `The name of this caller would be ${JSON.stringify(name)}, which is the name of a token: an admin has to delete that token first.`,
    );
  }
}
