import { createHash } from "node:crypto";

/** The place of a request among those of its team that use the database at the same time. */
export interface RequestSeat {
  /** A number for the team. Two teams with the same number would share their seats. */
  team: number;
  /** The seats of each team; null for half of the connections that the role may have. */
  most: number | null;
  /** Whether a transaction of the request has had a seat: later ones go on also without one. */
  isTaken: boolean;
}

export function requestSeat(team: string, most: number | null): RequestSeat {
  return { team: createHash("sha256").update(team).digest().readInt32BE(0), most, isTaken: false };
}

/**
 * Takes a seat until the end of the transaction. The server refuses the first transaction of a request
 * that finds none: it has done nothing yet, and the caller can send it again.
 */
export function takeSeat({ team, most, isTaken }: RequestSeat): string {
  return `select carillon.take_request_seat(${team}, ${most}, ${!isTaken})`;
}
