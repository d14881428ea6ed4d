import type { Operation } from "../batch/operation.ts";

/**
 * If two commands have the same time and position, the one whose kind ends something counts as the
 * later one: an order that is placed and shipped within a second is shipped.
 */
const ranks: Readonly<Record<Operation["kind"], number>> = {
  put: 1,
  patch: 2,
  resume: 3,
  pause: 4,
  delete: 5,
};

export interface StampParts {
  at: Date;
  /** The position in its message: commands of one message keep their order. */
  place: number;
  kind: Operation["kind"];
  id: string;
}

/**
 * The order of a command as a sortable text: by its time, then by its position in the message, its
 * kind, and its id. No two commands of a key have the same stamp, so every comparison has the same
 * result, in any order of arrival.
 */
export function stampOf({ at, place, kind, id }: StampParts): string {
  return `${String(at.getTime()).padStart(15, "0")}.${String(place).padStart(4, "0")}.${ranks[kind]}.${id}`;
}

export function isNewer(stamp: string, than: string | null): boolean {
  return than === null || stamp > than;
}

/** Compares kind and id, not the time: a command that is sent again may have a later time. */
export function isSameCommand(stamp: string, other: string | null): boolean {
  return other !== null && stamp.slice(headLength) === other.slice(headLength);
}

const headLength = "000000000000000.0000.".length;
