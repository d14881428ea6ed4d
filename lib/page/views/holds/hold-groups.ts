import type { BoardHold } from "../../../client/holds.ts";

/** Holds of single schedules that were set together, as a bulk action does. */
export interface HoldGroup {
  id: string;
  /** The characters with which the keys of all members begin. */
  prefix: string;
  members: readonly [BoardHold, ...BoardHold[]];
  /** Rows that are not loaded yet may belong to it. */
  hasMore: boolean;
}

export type HoldRow = { hold: BoardHold; isMember: boolean } | { group: HoldGroup; isOpen: boolean };

/** A bulk action sets its holds in many transactions. A longer gap lies between two actions. */
const gapMs = 60_000;

/**
 * The rows of the board, where holds with the same owner, reason and end that were set together are
 * one row. The API does not tell the action of a hold, so that only loaded holds are compared. The
 * members of an open group are rows behind it.
 */
export function holdRows(
  holds: readonly BoardHold[],
  { hasMore, open }: { hasMore: boolean; open: ReadonlySet<string> },
): HoldRow[] {
  const groupOf = new Map(
    groupsOf(holds, hasMore).flatMap((group) => group.members.map((hold) => [hold, group] as const)),
  );
  const shown = new Set<HoldGroup>();
  return holds.flatMap((hold): HoldRow[] => {
    const group = groupOf.get(hold);
    if (group === undefined) return [{ hold, isMember: false }];
    if (shown.has(group)) return [];
    shown.add(group);
    const isOpen = open.has(group.id);
    const members = group.members.map((member) => ({ hold: member, isMember: true }));
    return [{ group, isOpen }, ...(isOpen ? members : [])];
  });
}

function groupsOf(holds: readonly BoardHold[], hasMore: boolean): HoldGroup[] {
  const alone = holds.filter(({ scope, state }) => scope === "schedule" && state !== "ended");
  const alike = Map.groupBy(alone, ({ owner, reason, until, state }) =>
    JSON.stringify([owner, reason, until, state]),
  );
  // The board is in the order of ends, so the next page begins with the end of the last row.
  const lastEnd = holds.at(-1)?.until;
  return [...alike].flatMap(([id, those]) =>
    together(those).flatMap((members, nth): HoldGroup[] => {
      const [first, second] = members;
      if (first === undefined || second === undefined) return [];
      return [
        {
          // Not by a member: when that one is released, the row would close, and a dialog with it.
          id: `${id} ${nth}`,
          prefix: prefixOf(members.map(({ name }) => name)),
          members: [first, ...members.slice(1)],
          hasMore: hasMore && first.until === lastEnd,
        },
      ];
    }),
  );
}

/** In the order of their beginnings, parted at the gaps. */
function together(holds: readonly BoardHold[]): BoardHold[][] {
  const parts: BoardHold[][] = [];
  let before = Number.NEGATIVE_INFINITY;
  for (const hold of holds.toSorted((a, b) => sinceOf(a) - sinceOf(b))) {
    if (sinceOf(hold) - before > gapMs) parts.push([]);
    parts.at(-1)?.push(hold);
    before = sinceOf(hold);
  }
  return parts;
}

const sinceOf = ({ since }: BoardHold) => (since === null ? 0 : Date.parse(since));

function prefixOf(keys: readonly string[]): string {
  const [first = "", last = ""] = [keys.reduce(smaller), keys.reduce(larger)];
  let length = 0;
  while (length < first.length && first[length] === last[length]) length += 1;
  return first.slice(0, length);
}

const smaller = (a: string, b: string) => (a < b ? a : b);
const larger = (a: string, b: string) => (a > b ? a : b);
