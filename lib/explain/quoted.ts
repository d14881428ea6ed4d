import { isoInstant } from "../cadence/zone/civil.ts";

const shownMax = 200;

/** Errors may be pages long. */
export function quote(error: string): string {
  return `"${error.length <= shownMax ? error : `${error.slice(0, shownMax)}…`.toWellFormed()}"`;
}

export function instantText(instant: Date | null): string {
  return instant === null ? "a time that is not recorded" : isoInstant(instant.getTime());
}
