import type { Tx } from "../db/connect.ts";
import type { Rate } from "../job/rate.ts";
import { leftIn } from "./rate-buckets.ts";
import { readToken, type TokenRead } from "./read-tokens.ts";
import type { Token } from "./token.ts";
import { type BucketOwner, bucketsOf, type DeploymentRates, ownerOf } from "./token-rates.ts";

/** A rate in force, with the units left in its bucket; below 0 the bucket is in debt. */
export interface RateInForce {
  of: BucketOwner;
  rate: Rate;
  left: number;
}

/** The token of a request, with its rate. */
export interface OwnToken extends TokenRead {
  /** The rate in force with the fewest units left; null without a limit. */
  nearest: RateInForce | null;
}

/**
 * Reads the token that a request came with. Scope, prefix and team are those of the request: the
 * gateway may give a principal other rights with each request, and the row has those of the last.
 */
export async function readOwnToken(
  tx: Tx,
  { id, scope, prefix, team }: Token,
  rates: DeploymentRates,
): Promise<OwnToken | null> {
  const read = await readToken(tx, id, null);
  if (read === null) return null;
  const own = { ...read, scope, prefix, team };
  const buckets = bucketsOf(own, rates);
  const left = buckets.length === 0 ? [] : await leftIn(tx, buckets);
  const [nearest] = left
    .sort((a, b) => a.left - b.left)
    .map((each) => ({ of: ownerOf(each.bucket, own), rate: each.bucket.rate, left: each.left }));
  return { ...own, nearest: nearest ?? null };
}
