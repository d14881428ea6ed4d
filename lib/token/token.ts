import { randomUUID } from "node:crypto";
import type { Scope } from "../config/scopes.ts";
import type { Tx } from "../db/connect.ts";
import type { Rate } from "../job/rate.ts";
import { hashOf, isMiscopied, isPresentable } from "./secret.ts";

export type { Scope };

export interface Token {
  id: string;
  /** Stands as the actor wherever something was done with this token. */
  name: string;
  scope: Scope;
  /** It reaches keys that begin with this; null where it reaches all. */
  prefix: string | null;
}

/** A token as it is found for a request. */
export interface PresentedToken extends Token {
  expiresAt: Date | null;
  /** Null where the deployment's own holds. */
  rate: Rate | null;
  /** That it is used was not noted for a while. */
  isUseNoted: boolean;
}

const rank: Readonly<Record<Scope, number>> = { read: 1, write: 2, admin: 3 };

export function allows(token: Token, needed: Scope): boolean {
  return rank[token.scope] >= rank[needed];
}

/** How often it is noted that a token is used. */
const notedEveryMs = 60_000;

interface TokenRow extends Omit<PresentedToken, "rate"> {
  count: number | null;
  perMs: number | null;
}

/** The token as it is known here; null where it is unknown or its time is over, as the database's clock says. */
export async function findToken(sql: Tx, bearer: string): Promise<PresentedToken | null> {
  if (!isPresentable(bearer) || isMiscopied(bearer)) return null;
  return presentedBy(sql, hashOf(bearer));
}

export async function presentedBy(sql: Tx, hash: Buffer): Promise<PresentedToken | null> {
  const [row] = await sql<TokenRow[]>`
    select t.id, t.name, t.scope, t.prefix, t.expires_at as "expiresAt", t.rate_count as count, t.rate_ms as "perMs",
      t.last_used_at > carillon.clock() - ${notedEveryMs} * interval '1 millisecond' is true as "isUseNoted"
    from (
      select * from carillon.tokens where hash = ${hash}
      union all
      select t.* from carillon.earlier_secrets e join carillon.tokens t on t.id = e.token_id
      where e.hash = ${hash} and e.ends_at > carillon.clock()) t
    where t.expires_at is null or t.expires_at > carillon.clock()`;
  if (row === undefined) return null;
  const { count, perMs, ...token } = row;
  return { ...token, rate: count === null || perMs === null ? null : { count, perMs } };
}

/** Who is about to write the row as well does so in our place, or makes it stale: nobody waits for this. */
export async function noteUse(sql: Tx, { id }: Pick<Token, "id">): Promise<void> {
  await sql`
    update carillon.tokens set last_used_at = carillon.clock()
    where id = (
      select id from carillon.tokens
      where id = ${id} and last_used_at > carillon.clock() - ${notedEveryMs} * interval '1 millisecond' is not true
      for no key update skip locked)`;
}

/**
 * Makes the token known with admin scope unless it is known already; no other token is touched. A secret that was rotated away or whose
 * token was deleted stays without effect.
 */
export async function ensureAdminToken(sql: Tx, bearer: string): Promise<void> {
  if (!isPresentable(bearer)) {
    throw new Error("The first admin token takes 1 to 4096 printable ASCII characters without blanks.");
  }
  const hash = hashOf(bearer);
  const id = randomUUID();
  // One of that name that was there before keeps it, and what it holds.
  for (const name of ["first", `first-${id}`]) {
    await sql`
      insert into carillon.tokens (id, hash, name, scope, created_at, created_by)
      select ${id}, ${hash}, ${name}, 'admin', carillon.clock(), 'carillon'
      where not exists (select from carillon.earlier_secrets where hash = ${hash})
      on conflict do nothing`;
    const known = await sql`
      select from carillon.tokens where hash = ${hash} union all select from carillon.earlier_secrets where hash = ${hash}`;
    if (known.length > 0) return;
  }
}
