import { type Rate, rateText } from "../job/rate.ts";
import { Refusal } from "../refusal.ts";
import type { Bucket } from "./rate-buckets.ts";
import type { TokenRead } from "./read-tokens.ts";
import type { PresentedToken } from "./token.ts";

/** The rates of a deployment; null for no limit. */
export interface DeploymentRates {
  /** The rate of each token without one of its own. */
  ofToken: Rate | null;
  /** The rate of all tokens of a team together. */
  ofTeam(team: string): Rate | null;
}

/** The most buckets of tokens that one request takes from; the table has the same limit. */
const bucketsMax = 8;

/** The bucket of a new token as its row has it: the maker's, or its own, and those above. */
export interface NewBucket {
  bucket: string | null;
  /** As JSON. */
  above: string | null;
}

/**
 * A token without a rate of its own shares the bucket of the token that makes it. A token with one
 * takes from the maker's as well, so that no number of tokens has more than their maker. A maker
 * that reaches all keys and has no rate passes on nothing: it may grant any rate to any number of
 * tokens, and `first` would otherwise share its bucket with the whole deployment.
 */
export function bucketFor({ prefix, rate, rates }: TokenRead, asked: Rate | null | undefined): NewBucket {
  if (prefix === null && rate === null) return { bucket: null, above: null };
  const isOwn = asked !== undefined && asked !== null;
  const above = isOwn ? rates : rates.slice(0, -1);
  if (above.length >= bucketsMax)
    throw new Refusal("impossible", "The token cannot be made.", [
      {
        path: "rate",
        message: `must be left out: ${bucketsMax} rates lie one within the other already, and the token shares the last of them`,
      },
    ]);
  const kept = above.map((each) => ({
    bucket: each.bucket,
    rate: each.rate === null ? null : rateText(each.rate),
  }));
  return {
    bucket: isOwn ? null : (rates.at(-1)?.bucket ?? null),
    above: kept.length === 0 ? null : JSON.stringify(kept),
  };
}

const teamBucket = "team ";

/** The buckets that a request with the token takes from. None: there is no limit. */
export function bucketsOf(
  { rates, team }: Pick<PresentedToken, "rates" | "team">,
  { ofToken, ofTeam }: DeploymentRates,
): Bucket[] {
  const own = rates.map(({ bucket, rate }) => ({ id: `token ${bucket}`, rate: rate ?? ofToken }));
  const shared = team === null ? [] : [{ id: `${teamBucket}${team}`, rate: ofTeam(team) }];
  return [...own, ...shared].flatMap(({ id, rate }) => (rate === null ? [] : [{ id, rate }]));
}

export type BucketOwner = "token" | "maker" | "prefix";

/** The owner of a bucket, from the view of a token that takes from it. */
export function ownerOf({ id: bucket }: Pick<Bucket, "id">, { id }: Pick<PresentedToken, "id">): BucketOwner {
  if (bucket.startsWith(teamBucket)) return "prefix";
  return bucket === `token ${id}` ? "token" : "maker";
}
