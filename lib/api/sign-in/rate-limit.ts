import { BoundedMap } from "../../bounded-map.ts";
import type { Clock } from "../../clock.ts";
import type { Environment } from "../../config/environment.ts";
import { prefixRatesFrom } from "../../config/prefix-rates.ts";
import { parseRate, type Rate, rateForm } from "../../job/rate.ts";
import type { Asked, Bucket, Taken } from "../../token/rate-buckets.ts";
import type { PresentedToken } from "../../token/token.ts";
import { type BucketOwner, bucketsOf, type DeploymentRates, ownerOf } from "../../token/token-rates.ts";
import { type Charge, free } from "../request/cost.ts";
import { Problem } from "../request/problem.ts";

/** The buckets in the database, which all functions share. */
export interface Buckets {
  take(buckets: readonly Bucket[], asked: Asked): Promise<Taken>;
  giveBack(buckets: readonly Bucket[], units: number): Promise<void>;
}

/** The rates of the deployment: without `API_RATE` and `API_RATE_PER_PREFIX` there is no limit. */
export function deploymentRatesFrom(env: Environment): DeploymentRates {
  const ofPrefixes = prefixRatesFrom(env);
  return {
    ofToken: rateOfTokenFrom(env),
    ofTeam: (team) => parseRate(ofPrefixes.get(team) ?? ofPrefixes.get(null) ?? ""),
  };
}

function rateOfTokenFrom(env: Environment): Rate | null {
  const text = env["API_RATE"];
  if (text === undefined || text === "") return null;
  const rate = parseRate(text);
  if (rate === null)
    throw new Error(
      `The environment variable API_RATE is ${JSON.stringify(text)}; it is written ${rateForm}.`,
    );
  return rate;
}

/** Units that tokens with the same buckets may use at this function without another query. */
interface Share {
  left: number;
  /** The size of the share that was requested. */
  wanted: number;
  takenAt: number;
  /** When the rates have a unit again; until `askAt` that is believed without a query. */
  openAt: number;
  askAt: number;
  waitsFor: string;
}

/** The lifetime of a share. Unused units expire, so that idle functions do not save them up. */
const shareMs = 1_000;

/** The most shares in memory. A share that was dropped is taken again with the next request. */
const rememberedMax = 1_000;

/**
 * Admits a request by the rates of its token, or throws 429; the charge takes the units of its
 * work. Functions do not share memory: the database keeps the rest of each rate, and each function
 * takes a share of it. A share begins with one unit and doubles while it is used up in time, up to
 * a tenth of the lowest rate. A busy function therefore queries about ten times per unit of the
 * rate, and an idle function withholds nothing from others.
 *
 * Work that costs more than a share goes to the database. It is admitted unless a rate is in debt,
 * and may put it in debt: so any work can be done at any rate, and the requests after it wait.
 */
export function makeRateLimit(
  database: Buckets,
  { clock, rates }: { clock: Clock; rates: DeploymentRates },
): (token: PresentedToken) => Promise<Charge> {
  const shares = new BoundedMap<string, Share>(rememberedMax);
  return async (token) => {
    const buckets = bucketsOf(token, rates);
    if (buckets.length === 0) return free;
    const limited = { buckets, token, shares, database, now: () => clock.now().getTime() };
    await takeOne(limited);
    return {
      take: (units) => takeWork(limited, units),
      giveBack: async (units) => {
        // The work is done: its answer may not fail with this.
        await database.giveBack(buckets, units).catch(() => {});
        const share = shares.get(nameOf(buckets));
        if (share !== undefined) share.askAt = 0;
      },
    };
  };
}

interface Limited {
  buckets: readonly Bucket[];
  token: PresentedToken;
  shares: Map<string, Share>;
  database: Buckets;
  now: () => number;
}

/** Tokens with the same buckets have a share together. */
function nameOf(buckets: readonly Bucket[]): string {
  return JSON.stringify(buckets.map(({ id }) => id));
}

function isFresh(share: Share | undefined, now: number): share is Share {
  return share !== undefined && now - share.takenAt < shareMs;
}

async function takeOne({ buckets, token, shares, database, now: time }: Limited): Promise<void> {
  const now = time();
  const name = nameOf(buckets);
  const share = shares.get(name);
  if (isFresh(share, now) && share.left > 0) {
    share.left -= 1;
    return;
  }
  if (share !== undefined && share.askAt > now) throw usedUp(share, token, now);
  const most = Math.max(1, Math.floor(Math.min(...buckets.map(({ rate }) => rate.count)) / 10));
  const wanted = isFresh(share, now) ? Math.min(share.wanted * 2, most) : 1;
  const taken = await database.take(buckets, { cost: 1, upTo: wanted, mustHold: 1 });
  const next = { left: Math.max(0, taken.units - 1), wanted, takenAt: now, ...closing(taken, now) };
  shares.delete(name);
  shares.set(name, next);
  if (taken.units === 0) throw usedUp(next, token, now);
}

async function takeWork(
  { buckets, token, shares, database, now: time }: Limited,
  units: number,
): Promise<void> {
  const now = time();
  const share = shares.get(nameOf(buckets));
  const ahead = isFresh(share, now) ? Math.min(share.left, units) : 0;
  if (share !== undefined) share.left -= ahead;
  if (ahead === units) return;
  const cost = units - ahead;
  const taken = await database.take(buckets, { cost, upTo: cost, mustHold: 0 });
  const closed = closing(taken, now);
  if (share !== undefined) Object.assign(share, closed);
  if (taken.units > 0) return;
  if (share !== undefined) share.left += ahead;
  throw usedUp(closed, token, now);
}

/**
 * A wait is believed for a moment only, since work that was not needed may be given back at another
 * function.
 */
function closing({ waitMs, waitsFor }: Taken, now: number): Pick<Share, "openAt" | "askAt" | "waitsFor"> {
  return { openAt: now + waitMs, askAt: now + Math.min(waitMs, shareMs), waitsFor };
}

const ratesOfOwners: Readonly<Record<BucketOwner, string>> = {
  token: "The token's rate",
  maker: "The rate that the token shares with the token that made it",
  prefix: "The rate of all tokens of the same prefix together",
};

function usedUp(
  { openAt, waitsFor }: Pick<Share, "openAt" | "waitsFor">,
  token: PresentedToken,
  now: number,
) {
  const seconds = Math.max(1, Math.ceil((openAt - now) / 1_000));
  const whose = ratesOfOwners[ownerOf({ id: waitsFor }, token)];
  return new Problem("too-many", `${whose} is used up; try again in ${seconds} s.`, {
    "retry-after": String(seconds),
  });
}
