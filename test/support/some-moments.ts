import { diceOf, seeded } from "../race/seeded.ts";
import { seedOfRun } from "./seed.ts";

/** Trying every moment takes minutes, so it is done only with CARILLON_CRASH=all. */
export const triesAllMoments = process.env["CARILLON_CRASH"] === "all";

export interface SomeMoments<Moment> {
  tried: readonly Moment[];
  /** For the message of a failure: which moments were tried, and how to try the same again. */
  told: string;
}

/**
 * Chooses the moments that a run tries: the decisive ones, and one of each `oneOf` consecutive
 * ones. The seed of the run chooses which, so each run of the gate tries the same. A fixed step
 * would not do, since moments before and after an operation alternate. With CARILLON_CRASH=all, one
 * of each `oneOfAll` is tried; that is more than 1 only if all moments would take hours.
 */
export function someMoments<Moment>(
  moments: readonly Moment[],
  oneOf: number,
  isDecisive: (moment: Moment) => boolean = () => false,
  oneOfAll = 1,
): SomeMoments<Moment> {
  const share = triesAllMoments ? oneOfAll : oneOf;
  const dice = diceOf(seeded(seedOfRun));
  const tried: Moment[] = [];
  for (let from = 0; from < moments.length; from += share) {
    const block = moments.slice(from, from + share);
    const picked = dice.between(0, block.length - 1);
    tried.push(...block.filter((moment, index) => index === picked || isDecisive(moment)));
  }
  return {
    tried,
    told: `CARILLON_SEED=${seedOfRun}${triesAllMoments ? " CARILLON_CRASH=all" : ""} tried ${tried.length} of ${moments.length} moments`,
  };
}
