import { FarSearch, withoutFarSearches } from "../cadence/far-searches.ts";
import { type Searching, unboundedSearches } from "./search-pace.ts";

/** After so many the transaction makes those that are left itself: it ends, whatever is searched for. */
const searchesMax = 10;

interface Outside {
  foresee?: () => Promise<void>;
  /** A budget for all searches of one job. With it the number of searches has no limit, and no search runs under the locks. */
  bounded?: Searching;
}

/**
 * Runs a transaction that holds locks for which others wait. A search through a calendar that leaves out years is made before it and is only
 * remembered in it: where one is missing, the transaction is rolled back, searched for, and begun again.
 */
export async function searchingOutside<Result>(
  transaction: () => Promise<Result>,
  { foresee = async () => {}, bounded }: Outside = {},
): Promise<Result> {
  const searching = bounded ?? unboundedSearches();
  for (let searches = 0; bounded !== undefined || searches < searchesMax; searches += 1) {
    try {
      return await withoutFarSearches(transaction);
    } catch (error) {
      if (!(error instanceof FarSearch)) throw error;
      if (searches === 0) await foresee();
      await searching(error.search);
    }
  }
  return transaction();
}
