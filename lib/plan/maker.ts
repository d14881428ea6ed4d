import { mayBeOfARow } from "../quarantine/in-halves.ts";
import { type Maker, makeLater } from "./make-later.ts";
import { noteSkipped } from "./note-passed.ts";
import { firePlanned, planFrom } from "./plan-schedule.ts";
import { fireRelease, planBeyondHold } from "./release.ts";
export const makeAtOnce: Maker = {
  firePlanned,
  fireRelease,
  planFrom,
  planBeyondHold,
  noteSkipped,
  together: (work) => work(),
};

/**
 * Runs `work`, the edit of one schedule, in a transaction of its own. If the schedule's jobs cannot
 * be written, the edit starts again and puts them into the backlog, so that a caller can pause,
 * correct or delete such a schedule. The rejected alternative is a savepoint around each step,
 * which costs every edit.
 */
export async function owingWhatFails<T>(work: (maker: Maker) => Promise<T>): Promise<T> {
  const failures = new Set<unknown>();
  try {
    return await work(noting(failures));
  } catch (error) {
    if (!failures.has(error) || !mayBeOfARow(error)) throw error;
    return work(makeLater(error));
  }
}

function noting(failures: Set<unknown>): Maker {
  const noted =
    <Args extends unknown[], Done>(step: (...args: Args) => Promise<Done>) =>
    async (...args: Args): Promise<Done> => {
      try {
        return await step(...args);
      } catch (error) {
        failures.add(error);
        throw error;
      }
    };
  return {
    firePlanned: noted(firePlanned),
    fireRelease: noted(fireRelease),
    planFrom: noted(planFrom),
    planBeyondHold: noted(planBeyondHold),
    noteSkipped: noted(noteSkipped),
    together: (work) => noted(work)(),
  };
}
