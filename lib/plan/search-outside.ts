import { FarSearch, withoutFarSearches } from "../cadence/far-searches.ts";

/** After so many the transaction makes those that are left itself: it ends, whatever is searched for. */
const searchesMax = 10;

/**
 * Runs a transaction that holds locks for which others wait. A search through a calendar that leaves out years is made before it and is only
 * remembered in it: where one is missing, the transaction is rolled back, searched for, and begun again.
 */
export async function searchingOutside<Result>(
  transaction: () => Promise<Result>,
  foresee: () => Promise<void> = async () => {},
): Promise<Result> {
  for (let searches = 0; searches < searchesMax; searches += 1) {
    try {
      return await withoutFarSearches(transaction);
    } catch (error) {
      if (!(error instanceof FarSearch)) throw error;
      if (searches === 0) await foresee();
      error.search();
    }
  }
  return transaction();
}
