import { randomUUID } from "node:crypto";
import type { Scope } from "../config/scopes.ts";
import type { Tx } from "../db/connect.ts";
import { parseRate, type Rate } from "../job/rate.ts";
import { hashOf, isMiscopied, isPresentable } from "./secret.ts";

export type { Scope };

export interface Token {
  id: string;
  /** The actor of changes that are made with this token. */
  name: string;
  scope: Scope;
  /** The prefix of the keys that the token may touch; null for all keys. */
  prefix: string | null;
  /** The first prefix in the chain of tokens that made this one; null if the token reaches all keys. */
  team: string | null;
}

/** The bucket that a token's requests take from, named by the token that it was made for. */
export interface TokenRate {
  bucket: string;
  /** Null if the deployment's default rate applies. */
  rate: Rate | null;
}

/** A token as it is found for a request. */
export interface PresentedToken extends Token {
  expiresAt: Date | null;
  /** Its bucket, which it may share, behind those of the tokens above. Each request takes from all. */
  rates: readonly TokenRate[];
  /** Whether `last_used_at` is so recent that this use need not be noted. */
  isUseNoted: boolean;
}

const rank: Readonly<Record<Scope, number>> = { read: 1, write: 2, admin: 3 };

export function allows(token: Token, needed: Scope): boolean {
  return rank[token.scope] >= rank[needed];
}

/** How often the use of a token is recorded. */
const notedEveryMs = 60_000;

interface TokenRow extends Omit<PresentedToken, "rates">, RateRow {}

/** The rates of a token as its row has them. */
export interface RateRow {
  bucket: string;
  above: readonly { bucket: string; rate: string | null }[] | null;
  count: number | null;
  perMs: number | null;
}

export function ratesOf({ bucket, above, count, perMs }: RateRow): [...TokenRate[], TokenRate] {
  const higher = (above ?? []).map((each) => ({
    bucket: each.bucket,
    rate: each.rate === null ? null : parseRate(each.rate),
  }));
  return [...higher, { bucket, rate: count === null || perMs === null ? null : { count, perMs } }];
}

/** The token of a secret; null if it is unknown or has expired, by the database's clock. */
export async function findToken(sql: Tx, bearer: string): Promise<PresentedToken | null> {
  if (!isPresentable(bearer) || isMiscopied(bearer)) return null;
  return presentedBy(sql, hashOf(bearer));
}

export async function presentedBy(sql: Tx, hash: Buffer): Promise<PresentedToken | null> {
  const [row] = await sql<TokenRow[]>`
    select t.id, t.name, t.scope, t.prefix, coalesce(t.team, t.prefix) as team, t.expires_at as "expiresAt",
      coalesce(t.bucket, t.id) as bucket, t.rates_above as above, t.rate_count as count, t.rate_ms as "perMs",
      t.last_used_at > carillon.clock() - ${notedEveryMs} * interval '1 millisecond' is true as "isUseNoted"
    from (
      select * from carillon.tokens where hash = ${hash}
      union all
      select t.* from carillon.earlier_secrets e join carillon.tokens t on t.id = e.token_id
      where e.hash = ${hash} and e.ends_at > carillon.clock()) t
    where t.expires_at is null or t.expires_at > carillon.clock()`;
  if (row === undefined) return null;
  const { bucket, above, count, perMs, ...token } = row;
  return { ...token, rates: ratesOf({ bucket, above, count, perMs }) };
}

/**
 * Skips a locked row: the other transaction records the use or deletes the token, and no request
 * waits for this.
 */
export async function noteUse(sql: Tx, { id }: Pick<Token, "id">): Promise<void> {
  await sql`
    update carillon.tokens set last_used_at = carillon.clock()
    where id = (
      select id from carillon.tokens
      where id = ${id} and last_used_at > carillon.clock() - ${notedEveryMs} * interval '1 millisecond' is not true
      for no key update skip locked)`;
}

/**
 * Creates an admin token with this secret unless it exists; no other token is changed. A secret
 * that was rotated away, or whose token was deleted, stays invalid.
 */
export async function ensureAdminToken(sql: Tx, bearer: string): Promise<void> {
  if (!isPresentable(bearer)) {
    throw new Error("The first admin token takes 1 to 4096 printable ASCII characters without blanks.");
  }
  const hash = hashOf(bearer);
  const id = randomUUID();
  // If another token has the name `first`, it keeps the name, and this token gets a longer one.
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
