import type { BulkDone } from "../../../client/schedule.ts";
import { type Amount, amountText, countText, isNone, isOrAre, numberText } from "../amounts.ts";
import { type Changed, failedText, stoppedText } from "./change-all.ts";

interface Released extends Pick<BulkDone, "done"> {
  /** The hold that ended: `Your hold`, `The hold of “ops”`. */
  hold: string;
  /** How many of the schedules are held by others after it; undefined if the server did not tell. */
  held: Amount | undefined;
  /** Schedules among them that the hold was not on, and those that were refused. */
  rest?: Omit<Changed, "done">;
}

/** Sentences on a hold that ended on many schedules. Other holds stay on some of them. */
export function releasedText({ hold, done, held, rest }: Released): string {
  const ended = `${hold} ended on ${amountText({ count: done, more: false }, "schedule")}`;
  if (rest === undefined || (rest.unchanged + rest.failed === 0 && !rest.isStopped)) {
    if (held === undefined || done === 0) return `${ended}.`;
    return isNone(held)
      ? `${ended}, and none is held any more.`
      : `${ended}; ${heldCount(held)} of them ${isOrAre(held)} still held.`;
  }
  const { unchanged, isStopped } = rest;
  const parts = [
    `${ended}.`,
    isStopped ? stoppedText : null,
    unchanged === 0 ? null : `${numberText(unchanged)} did not have it.`,
    failedText(rest),
    held === undefined ? null : `Of all these, ${heldCount(held)} ${isOrAre(held)} still held.`,
  ];
  return parts.filter((part) => part !== null).join(" ");
}

const heldCount = (held: Amount) => (isNone(held) ? "none" : countText(held));
