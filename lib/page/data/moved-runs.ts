import { numberText, spanText } from "./amounts.ts";

/** A coming run before and after an edit. One that goes has no instant after it, a new one none before it. */
export interface RunChange {
  before: string | null;
  after: string | null;
}

const looks = {
  stays: { look: undefined, sign: "", word: "" },
  moves: { look: "moved", sign: "", word: "" },
  goes: { look: "gone", sign: "−", word: "goes" },
  comes: { look: "new", sign: "+", word: "new" },
} as const;

/** How a list marks a run: by class, sign and word. */
export function lookOf({ before, after }: RunChange): (typeof looks)[keyof typeof looks] {
  if (before === null) return looks.comes;
  if (after === null) return looks.goes;
  return before === after ? looks.stays : looks.moves;
}

/** The runs before and after an edit in the order of time, and a sentence on those that move. */
export interface MovedRuns {
  changes: readonly RunChange[];
  isAnyMoved: boolean;
  text: string;
}

/** Compares two lists of coming runs, of which a full one goes on beyond its end. */
export function movedRuns(before: readonly string[], after: readonly string[], most: number): MovedRuns {
  const moved = closestMove(before, after, most);
  if (moved !== null) return moved;
  // A run beyond the end of a full list may be in it still.
  const end = Math.min(
    ...[before, after].map((list) => (list.length < most ? Infinity : instantOf(list.at(-1)))),
  );
  const [wasOld, isNew] = [new Set(before), new Set(after)];
  const changes = [...new Set([...before, ...after])]
    .filter((at) => instantOf(at) <= end)
    .toSorted((one, other) => instantOf(one) - instantOf(other))
    .map((at) => ({ before: wasOld.has(at) ? at : null, after: isNew.has(at) ? at : null }));
  const gone = changes.filter((run) => run.after === null).length;
  const added = changes.filter((run) => run.before === null).length;
  return { changes, isAnyMoved: gone + added > 0, text: changesText(before.length, gone, added) };
}

/**
 * All runs as moved, by the shortest way: where the new time still comes today, the first run is new,
 * and tomorrow's moves by hours, and not to today. Null where runs go and come, or none moves.
 */
function closestMove(before: readonly string[], after: readonly string[], most: number): MovedRuns | null {
  const areFull = before.length === most && after.length === most;
  const [firstOld, firstNew] = [before.slice(0, 1), after.slice(0, 1)];
  const ways = [
    { gone: [], added: [], from: before, to: after },
    { gone: [], added: firstNew, from: before.slice(0, -1), to: after.slice(1) },
    { gone: firstOld, added: [], from: before.slice(1), to: after.slice(0, -1) },
  ];
  const [closest] = ways
    .slice(0, areFull ? ways.length : 1)
    .flatMap((way) => {
      const shifts = shiftsOf(way.from, way.to);
      return shifts === null ? [] : [{ ...way, shifts, by: Math.max(-shifts.least, shifts.most) }];
    })
    .toSorted((one, other) => one.by - other.by);
  if (closest === undefined) return null;
  const { gone, added, from, to, shifts } = closest;
  const changes = from.map((at, place) => ({ before: at, after: to[place] ?? null }));
  const others = [
    ...gone.map((at) => ({ change: { before: at, after: null }, text: " The first one goes." })),
    ...added.map((at) => ({ change: { before: null, after: at }, text: " The first one is new." })),
  ];
  return {
    changes: [...others.map(({ change }) => change), ...changes],
    isAnyMoved: true,
    text: `${shiftText(changes, shifts)}${others.map(({ text }) => text).join("")}`,
  };
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

function shiftText(changes: readonly RunChange[], { least, most }: Shifts): string {
  const way = most > 0 ? "later" : "earlier";
  const [short, long] = [Math.abs(least), Math.abs(most)].toSorted((one, other) => one - other).map(spanText);
  const by = short === long ? `${long} ${way}` : `${short} to ${long} ${way}`;
  if (changes.length === 1) return `The only coming run moves, ${by}.`;
  const moved = changes.filter(({ before, after }) => before !== after).length;
  const runs = `${numberText(moved)} of the next ${numberText(changes.length)} runs`;
  return moved === 1 ? `${runs} moves, ${by}.` : `${runs} move, each ${by}.`;
}

function changesText(before: number, gone: number, added: number): string {
  if (gone === 0 && added === 0) return "No run moves.";
  const left =
    gone === 0
      ? "No run goes"
      : `${numberText(gone)} of the next ${numberText(before)} runs ${gone === 1 ? "goes" : "go"}`;
  if (added === 0) return `${left}, and none is new.`;
  return `${left}, and ${numberText(added)} ${added === 1 ? "is" : "are"} new.`;
}
