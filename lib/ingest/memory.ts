import type { Operation } from "../batch/operation.ts";
import { isNewer, isSameCommand } from "./stamp.ts";

/** A command that must be repeated if an older one arrives after it. */
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
 * The mark of a key: what must be kept of its commands so that, in whatever order they arrive, the
 * schedule gets the state that they give in the order of their times.
 */
export interface Memory {
  /** The stamp of the newest put or delete. */
  base: string | null;
  /** The stamp of the newest delete, which removed every older hold. */
  gone: string | null;
  /** Patches newer than `base`, oldest first. */
  patches: readonly Kept[];
  /** The newest pause or resume of each owner, if it is newer than `gone`. */
  holds: readonly KeptHold[];
}

export const nothingKnown: Memory = { base: null, gone: null, patches: [], holds: [] };

export function pausesIn({ holds }: Pick<Memory, "holds">): KeptHold[] {
  return holds.filter(({ kind }) => kind === "pause");
}

/** A command with its stamp, which orders it. */
export interface Stamped {
  stamp: string;
  operation: Operation;
  kept: Kept;
}

export interface Remembered {
  memory: Memory;
  /** Whether the command is applied: not if it is late or a duplicate. */
  does: boolean;
  /** Newer patches that this command overwrites, and that must be repeated after it. */
  again: readonly Kept[];
  /**
   * Holds that this command removes: it is a delete that arrives late, and they were set before it.
   */
  released: readonly KeptHold[];
}

/** The new mark of a key after a command, and the operations that the command needs. */
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
  // A newer put exists. The delete applies to the schedule before it, and removes the holds of that
  // time.
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

/**
 * A mark with too many patches or holds forgets the oldest, and from then on takes no command that
 * is older than a forgotten one.
 */
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
