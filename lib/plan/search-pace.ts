import { setImmediate } from "node:timers/promises";
import { PassingConflict } from "../refusal.ts";
import { inTurns } from "./in-turns.ts";

/** Makes a search that may take long. What else waits for the program has its turn between two of them. */
export type Searching = (search: () => void) => Promise<void>;

export function unboundedSearches(): Searching {
  const turn = inTurns();
  return async (search) => {
    await turn();
    search();
  };
}

/** Postgres ends a transaction that waits ten seconds for what is computed here, and on a busy machine computing takes several times as long. */
const ownMsMax = 3_000;

/** For searches within a transaction that is open meanwhile. What was found is remembered by the process, also where the next search is refused. */
export function boundedSearches(now: () => number): Searching {
  let spent = 0;
  return async (search) => {
    await setImmediate();
    if (spent > ownMsMax) throw new SearchesTooLong();
    const began = now();
    try {
      search();
    } finally {
      spent += now() - began;
    }
  };
}

class SearchesTooLong extends PassingConflict {
  constructor() {
    super(
      `To find the next occurrences of these schedules took longer than the ${ownMsMax / 1_000} s that a job's transaction has for it: their calendars leave out nearly all days. A retry goes on with what was found; edit fewer schedules in one job, or by the API.`,
    );
  }
}
