import type { Tx } from "../db/connect.ts";
import type { Rate } from "../job/rate.ts";
import { type RateRow, ratesOf, type Scope, type Token, type TokenRate } from "./token.ts";
import { principalNames } from "./token-name.ts";

/** A token as admins read it, without its secret and without the hash. */
export interface TokenRead extends Token {
  expiresAt: Date | null;
  rate: Rate | null;
  /** As requests with the token have them. */
  rates: readonly TokenRate[];
  createdAt: Date;
  createdBy: string;
  /** Accurate to a minute. */
  lastUsedAt: Date | null;
  rotatedAt: Date | null;
  /** Until when a secret from before a rotation is still valid; null if there is none. */
  earlierUntil: Date | null;
}

interface TokenRow extends RateRow {
  id: string;
  name: string;
  scope: Scope;
  prefix: string | null;
  team: string | null;
  expiresAt: Date | null;
  createdAt: Date;
  createdBy: string;
  lastUsedAt: Date | null;
  rotatedAt: Date | null;
  earlierUntil: Date | null;
}

const tokenRows = (tx: Tx) => tx`
  select t.id, t.name, t.scope, t.prefix, coalesce(t.team, t.prefix) as team, t.expires_at as "expiresAt",
    coalesce(t.bucket, t.id) as bucket, t.rates_above as above, t.rate_count as count, t.rate_ms as "perMs",
    t.created_at as "createdAt", t.created_by as "createdBy", t.last_used_at as "lastUsedAt", t.rotated_at as "rotatedAt",
    (select max(e.ends_at) from carillon.earlier_secrets e where e.token_id = t.id and e.ends_at > carillon.clock()) as "earlierUntil"
  from carillon.tokens t`;

/** Whether the prefix of a token lies under this prefix. */
const under = (tx: Tx, prefix: string | null) =>
  prefix === null ? tx`true` : tx`starts_with(t.prefix, ${prefix})`;

/** Null if there is no such token, or if the token reaches beyond the prefix. */
export async function readToken(tx: Tx, id: string, prefix: string | null): Promise<TokenRead | null> {
  if (!isTokenId(id)) return null;
  const [row] = await tx<TokenRow[]>`${tokenRows(tx)} where t.id = ${id} and ${under(tx, prefix)}`;
  return row === undefined ? null : tokenRead(row);
}

/** Keeps the token from being deleted until the transaction ends; null if it has been deleted. */
export async function keepToken(tx: Tx, id: string): Promise<TokenRead | null> {
  await tx`select from carillon.tokens where id = ${id} for share`;
  return readToken(tx, id, null);
}

/** Locks the rows until the transaction ends, in one order, to avoid a deadlock. */
export async function lockTokens(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx`select from carillon.tokens where id = any(${ids.filter(isTokenId)}::uuid[]) order by id for update`;
}

/**
 * Admin tokens without a prefix and without an end. Principals of the gateway do not count: if the
 * deployment returns to tokens, the rows of principals grant nothing.
 */
const lasting = (tx: Tx) => tx`
  (scope = 'admin' and prefix is null and expires_at is null and name !~* ${principalNames.source})`;

/**
 * Locks these tokens and all admin tokens without a prefix and without an end; returns the ids of
 * the latter.
 */
export async function lockTokensAndLasting(tx: Tx, ids: readonly string[]): Promise<string[]> {
  const rows = await tx<{ id: string; lasts: boolean }[]>`
    select id, ${lasting(tx)} as lasts from carillon.tokens
    where ${lasting(tx)} or id = any(${ids.filter(isTokenId)}::uuid[])
    order by id for update`;
  return rows.filter(({ lasts }) => lasts).map(({ id }) => id);
}

/** The tokens of a team. Callers that need no token do not count: they are not made here. */
export async function countTokens(tx: Tx, team: string): Promise<number> {
  const [row] = await tx<{ tokens: number }[]>`
    select count(*)::int as tokens from carillon.tokens
    where coalesce(team, prefix) = ${team} and name !~* ${principalNames.source}`;
  return row?.tokens ?? 0;
}

/** The place of a token in the order of lists. */
export type TokenPlace = Pick<Token, "id" | "name">;

/** Tokens under the prefix, ordered by name; `after` is the token at which the page before ended. */
export async function listTokens(
  tx: Tx,
  { prefix, after, limit }: { prefix: string | null; after?: TokenPlace | undefined; limit: number },
): Promise<{ items: TokenRead[]; next?: TokenPlace }> {
  const rows = await tx<TokenRow[]>`
    ${tokenRows(tx)} where ${under(tx, prefix)} ${after === undefined ? tx`` : tx`and (t.name, t.id) > (${after.name}, ${after.id}::uuid)`}
    order by t.name, t.id limit ${limit + 1}`;
  const items = rows.slice(0, limit).map(tokenRead);
  const last = items.at(-1);
  return rows.length > limit && last !== undefined
    ? { items, next: { id: last.id, name: last.name } }
    : { items };
}

export function isTokenId(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}

function tokenRead({ bucket, above, count, perMs, ...row }: TokenRow): TokenRead {
  const rates = ratesOf({ bucket, above, count, perMs });
  return { ...row, rate: rates.at(-1)?.rate ?? null, rates };
}
