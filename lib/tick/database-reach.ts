import { isOfTheDatabase } from "../db/passing-failure.ts";

/** The memory of a process across its ticks. */
export interface DatabaseReach {
  /** A tick since the last mark could not reach the database. */
  failed: boolean;
}

export function rememberReach(reach: DatabaseReach | undefined, error: unknown): void {
  if (reach !== undefined && isOfTheDatabase(error)) reach.failed = true;
}
