import type { Acceptance } from "../command/acceptance.ts";
import { isOfTheDatabase, isPassingFailure } from "../db/passing-failure.ts";
import type { EditDeps } from "../edit/edit-transaction.ts";
import { FailedBefore, noteFailure } from "../idempotency/remembered-sql.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import { PassingConflict, Refusal } from "../refusal.ts";
import { highestCharacter } from "../schedule/filter-schedules.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import { arrivalGroups } from "./arrival-groups.ts";
import { arriveLater, arriveTogether, type Became, refuseArrival, refusedAs, takeBack } from "./arrive.ts";
import { type FirstPart, isFirst } from "./decide-arrivals.ts";
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

/** The result for a part that was brought. */
export type Brought = PartName & Became;

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
  /** Parts that come after the time is up have no result. At least one part is brought. */
  bring(parts: readonly MovedPart[], timeIsUp?: () => boolean): Promise<Brought[]>;
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
    bring: async (parts, timeIsUp = () => false) => {
      const brought: Brought[] = [];
      for (const group of arrivalGroups(parts)) {
        if ("later" in group) brought.push(...(await bringAlone(deps, { id, part: group.later, caller })));
        else brought.push(...(await bringGroup(deps, { id, parts: group.together, caller }, timeIsUp)));
        if (timeIsUp()) break;
      }
      return brought;
    },
    refuse: (schedule) => refuseArrival(deps, { id, schedule }),
    end: () => endMove(deps.sql, { id, direction: "in", abandon: false, caller }),
  };
}

/**
 * Brings schedules in one transaction. If that fails, each in one of its own, so that the failure of
 * one stops only itself.
 */
async function bringGroup(
  deps: MoveDeps,
  { id, parts, caller }: { id: string; parts: readonly FirstPart[]; caller: Caller },
  timeIsUp: () => boolean,
): Promise<Brought[]> {
  if (parts.length > 1) {
    try {
      return broughtAs(parts, await arriveTogether(deps, { id, parts, caller }));
    } catch (error) {
      if (isOfTheDatabase(error)) throw error;
      if (!(error instanceof FailedBefore)) await noteFailure(deps.sql, null);
    }
  }
  const brought: Brought[] = [];
  for (const part of parts) {
    brought.push(...(await bringAlone(deps, { id, part, caller })));
    if (timeIsUp()) break;
  }
  return brought;
}

/** Nothing if other work was in the way: the driver brings the part again. */
async function bringAlone(
  deps: MoveDeps,
  { id, part, caller }: { id: string; part: MovedPart; caller: Caller },
): Promise<Brought[]> {
  try {
    if (!isFirst(part)) return [{ ...nameOf(part), became: await arriveLater(deps, { id, part }) }];
    return broughtAs([part], await arriveTogether(deps, { id, parts: [part], caller }));
  } catch (error) {
    const became = error instanceof FailedBefore ? keptResult(error.failure) : failureOf(deps, part, error);
    if (!(error instanceof FailedBefore)) await noteFailure(deps.sql, became);
    return became === null ? [] : [{ ...nameOf(part), ...became }];
  }
}

const nameOf = ({ id, part }: PartName): PartName => ({ id, part });

function broughtAs(parts: readonly FirstPart[], results: ReadonlyMap<string, Became>): Brought[] {
  return parts.flatMap((part) => {
    const became = results.get(part.id);
    return became === undefined ? [] : [{ ...nameOf(part), ...became }];
  });
}

/** The result of a part that failed alone; null if it may arrive a moment later. Throws what concerns all parts. */
function failureOf(deps: MoveDeps, part: MovedPart, error: unknown): Became | null {
  if (error instanceof PassingConflict) return null;
  if (!(error instanceof Refusal)) return notArrived(deps, part, error);
  if (error.kind === "missing") throw error;
  return refusedAs(error);
}

/** The failure of a part in an earlier attempt of the same request. This code has noted it, so the type holds. */
function keptResult(failure: unknown): Became | null {
  return failure as Became | null;
}

/** One schedule on which Carillon fails does not stop the move: its source may have it back. */
function notArrived({ log }: Pick<MoveDeps, "log">, { schedule }: MovedPart, error: unknown): Became {
  if (schedule === null || isPassingFailure(error)) throw error;
  log.error("schedule.not-arrived", { key: schedule.key, error: errorText(error) });
  return { became: "impossible", refusal: "Carillon failed on it there; its log has the cause." };
}
