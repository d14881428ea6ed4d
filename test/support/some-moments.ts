import { seedOfRun } from "./seed.ts";

/** All moments take minutes: they are tried with CARILLON_CRASH=all. */
export const triesAllMoments = process.env["CARILLON_CRASH"] === "all";

export interface SomeMoments<Moment> {
  tried: readonly Moment[];
  /** For the message of a failure: which moments were tried, and how to try the same again. */
  told: string;
}

/** A run tries one of `oneOf` moments. The seed of the run says from which one on, so each run of the gate tries the same. */
export function someMoments<Moment>(moments: readonly Moment[], oneOf: number): SomeMoments<Moment> {
  if (triesAllMoments)
    return { tried: moments, told: `CARILLON_CRASH=all: each of ${moments.length} moments` };
  const first = Math.abs(Math.trunc(seedOfRun)) % Math.min(oneOf, moments.length);
  return {
    tried: moments.filter((_, index) => index % oneOf === first),
    told: `CARILLON_SEED=${seedOfRun}: one of ${oneOf} moments, from number ${first} of ${moments.length} on`,
  };
}
