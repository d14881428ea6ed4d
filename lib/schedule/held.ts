/** The hold of a schedule: it holds from after its start to its end, if it has one. */
export interface HeldTime {
  /** Null for a schedule without a hold. */
  heldSince: Date | number | null;
  heldUntil: Date | number | null;
}

/** A hold that has expired, but is not cleared yet, holds nothing. */
export function isHeldAt({ heldSince, heldUntil }: HeldTime, now: number): boolean {
  return heldSince !== null && (heldUntil === null || Number(heldUntil) > now);
}

/** Whether an occurrence is due under the hold; also under one that has expired and is not cleared. */
export function isDueUnderHold({ heldSince, heldUntil }: HeldTime, due: number): boolean {
  return heldSince !== null && due > Number(heldSince) && isDueByEnd(heldUntil, due);
}

/** Whether a job waits for the end of the hold, also one that was due before the hold began. */
export function waitsForHold(held: HeldTime, { now, due }: { now: number; due: number }): boolean {
  return isHeldAt(held, now) && isDueByEnd(held.heldUntil, due);
}

const isDueByEnd = (heldUntil: HeldTime["heldUntil"], due: number) =>
  heldUntil === null || due <= Number(heldUntil);
