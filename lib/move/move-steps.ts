import type { Acceptance } from "../command/acceptance.ts";
import { isPassingFailure } from "../db/passing-failure.ts";
import type { EditDeps } from "../edit/edit-transaction.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import { PassingConflict, Refusal } from "../refusal.ts";
import { highestCharacter } from "../schedule/filter-schedules.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import { type Arrived, arrivePart, refuseArrival, takeBack } from "./arrive.ts";
import { type Frozen, freezeNext } from "./freeze.ts";
import {
  confirmParts,
  type MoveProgress,
  type PartName,
  progressOf,
  unconfirmedParts,
} from "./hand-over-parts.ts";
import type { MovedPart } from "./moved-doc.ts";
import { closeMove, endMove, findMove, type Move } from "./moves.ts";
import { type Taken, takenMax, takeSchedules } from "./take.ts";

export type MoveDeps = EditDeps & { accept: Acceptance; log: Log };

/** The result for a part that was brought. `refusal`: it cannot be here. */
export interface Brought extends PartName {
  became: Arrived | "impossible";
  refusal?: string;
}

/** The steps of a move that the source carries out. Each may be repeated at any time. */
export interface SourceSteps {
  freeze(asked: { after: string; limit: number }): Promise<Frozen>;
  take(schedules: readonly string[]): Promise<Taken>;
  parts(): Promise<unknown[]>;
  confirm(parts: readonly PartName[]): Promise<number>;
  takeBack(schedule: string): Promise<boolean>;
  close(): Promise<Move>;
  end(asked: { abandon: boolean }): Promise<Move>;
  progress(): Promise<MoveProgress>;
}

/** The steps of a move that the destination carries out. */
export interface DestinationSteps {
  bring(parts: readonly MovedPart[]): Promise<Brought[]>;
  refuse(schedule: string): Promise<boolean>;
  end(): Promise<Move>;
}

const partsMax = 200;

export function sourceSteps(deps: MoveDeps, id: string, caller: Caller): SourceSteps {
  return {
    freeze: (asked) => freezeNext(deps, { id, caller, ...asked }),
    take: async (schedules) => {
      const done: Taken = { taken: 0, stuck: [] };
      for (let from = 0; from < schedules.length; from += takenMax) {
        const some = await takeSchedules(deps, {
          id,
          caller,
          schedules: schedules.slice(from, from + takenMax),
        });
        done.taken += some.taken;
        done.stuck.push(...some.stuck);
      }
      return done;
    },
    parts: () => unconfirmedParts(deps.sql, { id, limit: partsMax }),
    confirm: (parts) => confirmParts(deps.sql, { id, parts }),
    takeBack: (schedule) => takeBack(deps, { id, schedule, caller }),
    close: () => closeMove(deps.sql, { id, caller }),
    end: ({ abandon }) => endMove(deps.sql, { id, direction: "out", abandon, caller }),
    progress: async () => {
      const move = await findMove(deps.sql, id, "out");
      return progressOf(deps.sql, move, move.prefix + highestCharacter);
    },
  };
}

export function destinationSteps(deps: MoveDeps, id: string, caller: Caller): DestinationSteps {
  return {
    bring: async (parts) => {
      const brought: Brought[] = [];
      for (const part of parts) {
        const became = await bring(deps, { id, part, caller });
        if (became !== null) brought.push({ id: part.id, part: part.part, ...became });
      }
      return brought;
    },
    refuse: (schedule) => refuseArrival(deps, { id, schedule }),
    end: () => endMove(deps.sql, { id, direction: "in", abandon: false, caller }),
  };
}

/** Null if other work was in the way: the driver brings the part again. */
async function bring(
  deps: MoveDeps,
  asked: { id: string; part: MovedPart; caller: Caller },
): Promise<Pick<Brought, "became" | "refusal"> | null> {
  try {
    return { became: await arrivePart(deps, asked) };
  } catch (error) {
    if (error instanceof PassingConflict) return null;
    if (!(error instanceof Refusal)) return notArrived(deps, asked.part, error);
    if (error.kind === "missing") throw error;
    const faults = error.faults.map(({ path, message }) => `${path} ${message}`);
    return { became: "impossible", refusal: [error.message, ...faults].join(" ") };
  }
}

/** One schedule on which Carillon fails does not stop the move: its source may have it back. */
function notArrived(
  { log }: Pick<MoveDeps, "log">,
  { schedule }: MovedPart,
  error: unknown,
): Pick<Brought, "became" | "refusal"> {
  if (schedule === null || isPassingFailure(error)) throw error;
  log.error("schedule.not-arrived", { key: schedule.key, error: errorText(error) });
  return { became: "impossible", refusal: "Carillon failed on it there; its log has the cause." };
}
