import type { Tx } from "../db/connect.ts";
import type { Rate } from "../job/rate.ts";
import { readToken, type TokenRead } from "./read-tokens.ts";
import type { Token } from "./token.ts";

/** The token of a request, and what it has used of its rate. */
export interface OwnToken extends TokenRead {
  /** Null without a limit. */
  used: number | null;
}

/**
 * Reads the token that a request came with. Scope and prefix are those of the request: the gateway
 * may give a principal other rights with each request, and the row has those of the last one.
 * `rate` is the rate in force: the token's own, or else the deployment's.
 */
export async function readOwnToken(
  tx: Tx,
  { id, scope, prefix }: Token,
  byDefault: Rate | null,
): Promise<OwnToken | null> {
  const read = await readToken(tx, id, null);
  if (read === null) return null;
  const rate = read.rate ?? byDefault;
  return { ...read, scope, prefix, rate, used: rate === null ? null : await usedOf(tx, id, rate) };
}

/** Requests used of the bucket, less those that have flowed back since. */
async function usedOf(tx: Tx, id: string, { count, perMs }: Rate): Promise<number> {
  const [row] = await tx<{ used: number }[]>`
    select greatest(0, used - greatest(0, extract(epoch from carillon.clock() - at) * 1000) * ${count / perMs}::float8)::float8 as used
    from carillon.token_allowances where token_id = ${id}`;
  return Math.min(count, Math.ceil(row?.used ?? 0));
}
