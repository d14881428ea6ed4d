import { setImmediate } from "node:timers/promises";
import type { TooLong } from "../plan/unfolding-time.ts";
import { PassingConflict } from "../refusal.ts";
import { yieldOften } from "./yield-often.ts";

/** Makes a search that may take long. What else waits for the program has its turn between two of them. */
export type Searching = (search: () => void) => Promise<void>;

export function unboundedSearches(): Searching {
  const turn = yieldOften();
  return async (search) => {
    await turn();
    search();
  };
}

/** Postgres ends a transaction that waits ten seconds for what is computed here, and on a busy machine computing takes several times as long. */
const ownMsMax = 3_000;

export interface BoundedComputing {
  searching: Searching;
  counting: TooLong;
}

/**
 * For searches and counts within a transaction that is open meanwhile: they have one time limit together. What a search has found is remembered by the
 * process, also where the next one is refused. One edit counts for as long as it takes, since there are no fewer.
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
      `To find the next occurrences of these schedules took longer than the ${ownMsMax / 1_000} s that a job's transaction has for it: their calendars leave out nearly all days. A retry goes on with what was found; edit fewer schedules in one job, or by the API.`,
    );
  }
}

class CountsTooLong extends PassingConflict {
  constructor() {
    super(
      `To compute what of these schedules has come due took longer than the ${ownMsMax / 1_000} s that a job's transaction has for it. Edit fewer schedules in one job, or by the API.`,
    );
  }
}
