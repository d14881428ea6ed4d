import type { Operation } from "../batch/operation.ts";

/** At one instant and place, what ends something counts as the later: an order that is placed and shipped within a second is shipped. */
const ranks: Readonly<Record<Operation["kind"], number>> = {
  put: 1,
  patch: 2,
  resume: 3,
  pause: 4,
  delete: 5,
};

export interface StampParts {
  at: Date;
  /** Where in its message the command stands: those of one message come in their order. */
  place: number;
  kind: Operation["kind"];
  id: string;
}

/**
 * When a command was given, as a text that sorts: by its time, then by its place in its message, then by what it does, then by its id. No
 * two commands of a key have the same, so that whoever compares them comes to the same end, in whichever order they arrive.
 */
export function stampOf({ at, place, kind, id }: StampParts): string {
  return `${String(at.getTime()).padStart(15, "0")}.${String(place).padStart(4, "0")}.${ranks[kind]}.${id}`;
}

export function isNewer(stamp: string, than: string | null): boolean {
  return than === null || stamp > than;
}

/** What it does and its id: whoever sends a command again may have given it a later time. */
export function isSameCommand(stamp: string, other: string | null): boolean {
  return other !== null && stamp.slice(headLength) === other.slice(headLength);
}

const headLength = "000000000000000.0000.".length;
