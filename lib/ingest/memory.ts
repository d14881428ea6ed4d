import type { Operation } from "../batch/operation.ts";
import { isNewer, isSameCommand } from "./stamp.ts";

/** A command that must be done again where an older one comes after it. */
export interface Kept {
  stamp: string;
  id: string;
  at: string;
  input: unknown;
}

export interface KeptHold extends Kept {
  owner: string;
  kind: "pause" | "resume";
}

/**
 * What is known of a key from the commands that came, in whichever order: enough to bring the schedule to where it would be had they come
 * in theirs.
 */
export interface Memory {
  /** Of the newest put or delete. */
  base: string | null;
  /** Of the newest delete, which took every older hold along. */
  gone: string | null;
  /** Newer than `base`, oldest first. */
  patches: readonly Kept[];
  /** The newest of each owner, if it is newer than `gone`. */
  holds: readonly KeptHold[];
}

export const nothingKnown: Memory = { base: null, gone: null, patches: [], holds: [] };

export function pausesIn({ holds }: Pick<Memory, "holds">): KeptHold[] {
  return holds.filter(({ kind }) => kind === "pause");
}

/** A command with what orders it. */
export interface Stamped {
  stamp: string;
  operation: Operation;
  kept: Kept;
}

export interface Remembered {
  memory: Memory;
  /** False where the command comes too late, or for the second time. */
  does: boolean;
  /** Newer patches, whose effect the command has undone. */
  again: readonly Kept[];
  /** Holds that were set before a delete which only comes now, and went with it. */
  released: readonly KeptHold[];
}

/** What a command changes in what is known of its key, and what is to be done for it. */
export function remember(memory: Memory, command: Stamped): Remembered {
  switch (command.operation.kind) {
    case "put":
      return rememberPut(memory, command);
    case "delete":
      return rememberDelete(memory, command);
    case "patch":
      return rememberPatch(memory, command);
    case "pause":
    case "resume":
      return rememberHold(memory, command);
  }
}

function done(memory: Memory, more: Partial<Remembered> = {}): Remembered {
  return { memory: bounded(memory), does: true, again: [], released: [], ...more };
}

function passedOver(memory: Memory): Remembered {
  return { memory, does: false, again: [], released: [] };
}

function rememberPut(memory: Memory, { stamp }: Stamped): Remembered {
  if (!isNewer(stamp, memory.base) || isSameCommand(stamp, memory.base)) return passedOver(memory);
  const patches = newerThan(stamp, memory.patches);
  return done({ ...memory, base: stamp, patches }, { again: patches });
}

function rememberDelete(memory: Memory, { stamp }: Stamped): Remembered {
  if (!isNewer(stamp, memory.gone) || isSameCommand(stamp, memory.gone)) return passedOver(memory);
  const holds = newerThan(stamp, memory.holds);
  if (isNewer(stamp, memory.base))
    return done({ base: stamp, gone: stamp, patches: newerThan(stamp, memory.patches), holds });
  // A newer put stands. The schedule before it went, and with it what had been held.
  const released = memory.holds.filter((hold) => hold.kind === "pause" && !holds.includes(hold));
  return done({ ...memory, gone: stamp, holds }, { does: false, released });
}

function rememberPatch(memory: Memory, { stamp, kept }: Stamped): Remembered {
  if (!isNewer(stamp, memory.base) || memory.patches.some((each) => isSameCommand(stamp, each.stamp)))
    return passedOver(memory);
  const again = newerThan(stamp, memory.patches);
  const before = memory.patches.filter((each) => !again.includes(each));
  return done({ ...memory, patches: [...before, kept, ...again] }, { again });
}

function rememberHold(memory: Memory, { stamp, operation, kept }: Stamped): Remembered {
  if (operation.kind !== "pause" && operation.kind !== "resume") return passedOver(memory);
  const owner = operation.owner ?? operation.caller.name;
  const standing = memory.holds.find((hold) => hold.owner === owner);
  const isLate = !isNewer(stamp, memory.gone) || !isNewer(stamp, standing?.stamp ?? null);
  if (isLate || isSameCommand(stamp, standing?.stamp ?? null)) return passedOver(memory);
  const others = memory.holds.filter((hold) => hold !== standing);
  return done({ ...memory, holds: [...others, { ...kept, owner, kind: operation.kind }] });
}

function newerThan<Each extends Kept>(stamp: string, kept: readonly Each[]): Each[] {
  return kept.filter((each) => isNewer(each.stamp, stamp));
}

const keptMax = 50;
const keptCharactersMax = 200_000;

/** Whose patches and holds are too many to be kept forgets the oldest, and from then on takes nothing that is older than those. */
function bounded(memory: Memory): Memory {
  const patches = newestOf(memory.patches);
  const holds = newestOf(memory.holds);
  return {
    patches: patches.kept,
    holds: holds.kept,
    base: newest(memory.base, patches.forgotten),
    gone: newest(memory.gone, holds.forgotten),
  };
}

function newestOf<Each extends Kept>(all: readonly Each[]): { kept: Each[]; forgotten: string | null } {
  const newestFirst = all.toSorted((a, b) => (a.stamp > b.stamp ? -1 : 1));
  let characters = 0;
  const fitting = newestFirst.findIndex((each, index) => {
    characters += JSON.stringify(each.input).length;
    return index >= keptMax || characters > keptCharactersMax;
  });
  if (fitting === -1) return { kept: newestFirst.reverse(), forgotten: null };
  return {
    kept: newestFirst.slice(0, fitting).reverse(),
    forgotten: newestFirst[fitting]?.stamp ?? null,
  };
}

function newest(a: string | null, b: string | null): string | null {
  return b === null || (a !== null && a > b) ? a : b;
}
