import { FarSearch, withoutFarSearches } from "../cadence/far-searches.ts";
import { type Searching, unboundedSearches } from "./search-pace.ts";

/**
 * Limit of searches outside. After these the transaction makes the remaining searches itself, so
 * that it always ends.
 */
const searchesMax = 10;

interface Outside {
  foresee?: () => Promise<void>;
  /**
   * Runs each search within a time limit for all searches of one job. Then the number of searches
   * has no limit, and no search runs under the locks.
   */
  bounded?: Searching;
}

/**
 * Runs a transaction that holds locks other transactions wait for. A search through a calendar that
 * leaves out years runs before the transaction, which only uses the remembered result. If a result
 * is missing, the transaction is rolled back, the search runs, and the transaction begins again.
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
