import { isoInstant } from "../cadence/zone/civil.ts";
import type { VersionFact } from "./verdict.ts";

/** The move that took the schedule out of this installation with this version; null if none did. */
interface Away {
  move: string;
  to: string;
  at: number;
}

export function awayBy({ change, detail, at }: VersionFact): Away | null {
  if (change !== "deleted" || detail === null || typeof detail !== "object" || !("movedTo" in detail))
    return null;
  return { move: String(detail["move"]), to: String(detail["movedTo"]), at };
}

/** Its runs are known to the other installation alone. */
export function awayText({ move, to, at }: Away): string {
  return `is at ${to} since ${isoInstant(at)} (move ${move}). Ask there`;
}

/** The move that took the schedule at the end of this hold, if the move had set it. Runs under that hold are late, in the other installation. */
export function awayFromHold(
  versions: readonly VersionFact[],
  { by, until }: { by: readonly { owner: string }[]; until: number | null },
): Away | null {
  const taken = versions.find(({ at }) => at === until);
  const away = taken === undefined ? null : awayBy(taken);
  return away !== null && by.some(({ owner }) => owner === `move ${away.move}`) ? away : null;
}
