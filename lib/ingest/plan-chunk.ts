import type { Operation } from "../batch/operation.ts";
import { type Kept, type KeptHold, type Memory, pausesIn, type Remembered, remember } from "./memory.ts";
import { isNewer } from "./stamp.ts";
import { isOverruled, type Standing } from "./standing.ts";
import type { Understood } from "./understand.ts";

/** One operation of a chunk's transaction. */
export interface Step {
  operation: Operation;
  /** The command of this operation; null for an earlier command that is repeated. */
  of: Understood | null;
  /** The repeated command. */
  again?: Kept;
}

export interface ChunkPlan {
  steps: Step[];
  /** Commands that are not applied: late, duplicate, or overruled by another caller's edit. */
  passedOver: readonly Understood[];
  /**
   * Those of `passedOver` that change a mark all the same: deletes older than the put that made the
   * schedule again.
   */
  noted: readonly Understood[];
}

export interface Known {
  memoryOf(key: string): Memory;
  standingOf(key: string): Standing;
  /** Whether another caller's resume, or the end of its schedule, has removed the hold since. */
  isReleased(key: string, hold: KeptHold): boolean;
  /** Null if the command is refused now. */
  again(kept: Kept): Operation | null;
}

/**
 * The operations for commands, in the order in which they were given, from the marks of their keys.
 */
export function planChunk(commands: readonly Understood[], known: Known): ChunkPlan {
  const steps: Step[] = [];
  const passedOver: Understood[] = [];
  const noted: Understood[] = [];
  const memories = new Map<string, Memory>();
  const existing = new Map<string, boolean>();
  const repeat = (kept: Kept) => {
    const operation = known.again(kept);
    if (operation !== null) steps.push({ operation, of: null, again: kept });
  };
  for (const command of commands) {
    const { operation, received } = command;
    const { key } = operation;
    const standing = known.standingOf(key);
    if (isOverruled(operation, received.at, standing)) {
      passedOver.push(command);
      continue;
    }
    const before = memories.get(key) ?? known.memoryOf(key);
    const done = remember(before, command);
    const { memory, does } = done;
    memories.set(key, memory);
    if (does) steps.push({ operation, of: command });
    else passedOver.push(command);
    if (!does && memory !== before) noted.push(command);
    const isThere = existing.get(key) ?? standing.id !== null;
    for (const kept of toRepeat(command, isThere, done, known)) repeat(kept);
    if (does && (operation.kind === "put" || operation.kind === "delete"))
      existing.set(key, operation.kind === "put");
  }
  return { steps, passedOver, noted };
}

/**
 * Commands that arrived before this one, and must be repeated after it because they were given
 * later.
 */
function toRepeat(
  { operation }: Understood,
  isThere: boolean,
  done: Remembered,
  { isReleased }: Pick<Known, "isReleased">,
): Kept[] {
  const { key, kind } = operation;
  const releases = done.released.map((hold) => ({ ...hold, input: { resume: { key, owner: hold.owner } } }));
  // A schedule that is made again lacks the holds that were set since the last delete.
  const isMade = done.does && kind === "put" && !isThere;
  const holds = isMade
    ? pausesIn(done.memory).filter((hold) => isNewer(hold.stamp, done.memory.gone) && !isReleased(key, hold))
    : [];
  return [...done.again, ...releases, ...holds];
}

/** The marks after these commands were taken, without the repeated commands that were refused. */
export function remembered(
  commands: readonly Understood[],
  memoryOf: (key: string) => Memory,
  refusedAgain: ReadonlySet<Kept>,
): Map<string, Memory> {
  const memories = new Map<string, Memory>();
  for (const command of commands) {
    const { key } = command.operation;
    const before = memories.get(key) ?? memoryOf(key);
    const { memory } = remember(before, command);
    if (memory !== before) memories.set(key, memory);
  }
  for (const [key, memory] of memories) {
    const kept = memory.patches.filter(
      (patch) => ![...refusedAgain].some(({ stamp }) => stamp === patch.stamp),
    );
    if (kept.length < memory.patches.length) memories.set(key, { ...memory, patches: kept });
  }
  return memories;
}
