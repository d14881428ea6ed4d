import { numberText, spanText } from "./amounts.ts";

/** The instants of the runs that an edit takes away and adds, and a sentence on them. */
export interface MovedRuns {
  gone: ReadonlySet<string>;
  added: ReadonlySet<string>;
  text: string;
}

/** Compares two lists of coming runs, of which a full one goes on beyond its end. */
export function movedRuns(before: readonly string[], after: readonly string[], most: number): MovedRuns {
  const [wasOld, isNew] = [new Set(before), new Set(after)];
  const left = before.filter((at) => !isNew.has(at));
  const come = after.filter((at) => !wasOld.has(at));
  const shifts = shiftsOf(before, after);
  if (shifts !== null)
    return { gone: new Set(left), added: new Set(come), text: shiftText(left, before, shifts) };
  // A run beyond the end of a full list may be in it still.
  const end = Math.min(
    ...[before, after].map((list) => (list.length < most ? Infinity : instantOf(list.at(-1)))),
  );
  const isCovered = (at: string) => instantOf(at) <= end;
  const gone = left.filter(isCovered);
  const added = come.filter(isCovered);
  return { gone: new Set(gone), added: new Set(added), text: changesText(before, gone, added) };
}

const instantOf = (at: string | undefined) => Date.parse(at ?? "");

/** The smallest and the largest number of ms by which a run moves. */
interface Shifts {
  least: number;
  most: number;
}

/**
 * By how much the runs move, all of them later or all earlier: a clock change makes one of many equal
 * shifts another. Null where runs go and come, or none moves.
 */
function shiftsOf(before: readonly string[], after: readonly string[]): Shifts | null {
  if (before.length !== after.length) return null;
  const pairs = before
    .map((at, place) => [at, after[place] ?? at] as const)
    .filter(([old, at]) => old !== at);
  const others = new Set(after);
  if (pairs.length === 0 || pairs.some(([old]) => others.has(old))) return null;
  const shifts = pairs.map(([old, at]) => instantOf(at) - instantOf(old));
  const [least, most] = [Math.min(...shifts), Math.max(...shifts)];
  const isOneWay = least > 0 === most > 0;
  return isOneWay && (least === most || most - least <= clockChangeMs) ? { least, most } : null;
}

/** The largest change of a clock. */
const clockChangeMs = 2 * 3_600_000;

function shiftText(moved: readonly string[], before: readonly string[], { least, most }: Shifts): string {
  const way = most > 0 ? "later" : "earlier";
  const [short, long] = [Math.abs(least), Math.abs(most)].toSorted((one, other) => one - other).map(spanText);
  const by = short === long ? `${long} ${way}` : `${short} to ${long} ${way}`;
  if (before.length === 1) return `The only coming run moves, ${by}.`;
  const runs = `${numberText(moved.length)} of the next ${numberText(before.length)} runs`;
  return moved.length === 1 ? `${runs} moves, ${by}.` : `${runs} move, each ${by}.`;
}

function changesText(before: readonly string[], gone: readonly string[], added: readonly string[]): string {
  if (gone.length === 0 && added.length === 0) return "No run moves.";
  const left =
    gone.length === 0
      ? "No run goes"
      : `${numberText(gone.length)} of the next ${numberText(before.length)} runs ${gone.length === 1 ? "goes" : "go"}`;
  if (added.length === 0) return `${left}, and none is new.`;
  return `${left}, and ${numberText(added.length)} ${added.length === 1 ? "is" : "are"} new.`;
}
