import { setImmediate } from "node:timers/promises";
import type { TooLong } from "../plan/unfolding-time.ts";
import { PassingConflict } from "../refusal.ts";
import { yieldOften } from "./yield-often.ts";

/** Runs a search that may take long. Between two searches other work of the process can run. */
export type Searching = (search: () => void) => Promise<void>;

export function unboundedSearches(): Searching {
  const turn = yieldOften();
  return async (search) => {
    await turn();
    search();
  };
}

/**
 * Limit of the computing inside an open transaction. Postgres ends a transaction that idles for ten
 * seconds, and on a busy machine computing takes several times as long.
 */
const ownMsMax = 3_000;

export interface BoundedComputing {
  searching: Searching;
  counting: TooLong;
}

/**
 * For searches and counts inside an open transaction: they share one time limit. The process
 * remembers the result of a search, also if the next search is refused. A single edit has no limit
 * for its counts, since it cannot be divided.
 */
export function boundedComputing(edits: number, now: () => number): BoundedComputing {
  let spent = 0;
  let since = now();
  const searching: Searching = async (search) => {
    await setImmediate();
    if (spent > ownMsMax) throw new SearchesTooLong();
    const began = now();
    try {
      search();
    } finally {
      spent += now() - began;
    }
  };
  const counting: TooLong = {
    begin: () => {
      since = now();
    },
    check: () => {
      spent += now() - since;
      if (edits > 1 && spent > ownMsMax) throw new CountsTooLong();
    },
    spentMs: () => spent,
  };
  return { searching, counting };
}

class SearchesTooLong extends PassingConflict {
  constructor() {
    super(
      `Finding the next occurrences of these schedules took longer than the ${ownMsMax / 1_000} s that a job's transaction allows: their calendars leave out nearly all days. A retry continues from the occurrences found so far. Edit fewer schedules in one job, or use the API.`,
    );
  }
}

class CountsTooLong extends PassingConflict {
  constructor() {
    super(
      `Computing the due occurrences of these schedules took longer than the ${ownMsMax / 1_000} s that a job's transaction allows. Edit fewer schedules in one job, or use the API.`,
    );
  }
}
