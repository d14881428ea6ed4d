import type { Line } from "./line.ts";
import { cutAtEnd, type RequestTime, refusalOf } from "./request-time.ts";
import { sqlState } from "./sql-state.ts";
import type { Statement } from "./statement.ts";

/** A line that belongs to one transaction until it is handed back. */
export interface Borrowed {
  line: Line;
  handBack(): void;
  /** Closes a line in an unknown state instead of using it again. */
  discard(): void;
}

export interface Pool {
  run(statement: Statement, time?: RequestTime): void;
  borrow(): Promise<Borrowed>;
  end(): Promise<void>;
}

export interface PoolLimits {
  max: number;
  /**
   * A line that idled for longer is not used again. After a freeze of its Lambda environment the
   * other end may be gone silently, and a statement sent there would wait for the whole timeout of
   * the function.
   */
  idleMs: number;
}

interface Slot {
  line: Line;
  running: number;
  borrowed: boolean;
  idleSince: number;
  idleTimer?: NodeJS.Timeout;
}

type Waiting = { alone: boolean; start(slot: Slot): void; refuse(reason: Error): void };

// The driver pipelines statements. Above this number on one line, a statement that waits in the
// pool is answered as soon as one that is sent.
const RUNNING_MAX = 100;

/**
 * Gives statements and transactions, first come first served, one of at most `max` lines, which are
 * opened when needed.
 */
export function makePool(
  open: (onLost: () => void) => Line,
  limits: PoolLimits,
  now: () => number = Date.now,
): Pool {
  const slots = new Set<Slot>();
  const closing = new Set<Promise<void>>();
  const waiting: Waiting[] = [];
  let ended = false;

  const openSlot = (): Slot => {
    const line = open(() => {
      remove(slot);
      drain();
    });
    const slot: Slot = { line, running: 0, borrowed: false, idleSince: now() };
    slots.add(slot);
    return slot;
  };

  const remove = (slot: Slot) => {
    clearTimeout(slot.idleTimer);
    slots.delete(slot);
  };

  const retire = (slot: Slot) => {
    remove(slot);
    const closed = slot.line.close().finally(() => closing.delete(closed));
    closing.add(closed);
  };

  const rest = (slot: Slot) => {
    if (!slots.has(slot) || slot.borrowed || slot.running > 0) return;
    slot.idleSince = now();
    clearTimeout(slot.idleTimer);
    slot.idleTimer = setTimeout(() => retire(slot), limits.idleMs).unref();
  };

  const freeSlot = (alone: boolean): Slot | undefined => {
    const idle = [...slots].filter(isIdle);
    for (const slot of idle.filter((each) => now() - each.idleSince > limits.idleMs)) retire(slot);
    const fresh = idle.find((each) => slots.has(each));
    if (fresh !== undefined) return fresh;
    if (slots.size < limits.max) return openSlot();
    return alone ? undefined : leastRunning(slots);
  };

  const drain = () => {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const slot = freeSlot(next.alone);
      if (slot === undefined) return;
      waiting.shift();
      clearTimeout(slot.idleTimer);
      next.start(slot);
    }
  };

  const admit = (request: Waiting) => {
    if (ended) return request.refuse(new Error("This connection pool has been closed."));
    waiting.push(request);
    drain();
  };

  const startStatement = (slot: Slot, statement: Statement, time: RequestTime | undefined) => {
    slot.running += 1;
    const inTime = cutAtEnd(time, slot.line.cut);
    const done = () => {
      inTime();
      slot.running -= 1;
      rest(slot);
      drain();
    };
    statement.then(done, (error: unknown) => {
      // After a failover, the name of the writer may lead to a server that is a reader by now. A
      // busy line to it would never be replaced.
      if (sqlState(error) === "read_only" && slots.has(slot)) retire(slot);
      done();
    });
    const late = refusalOf(time);
    if (late === undefined) slot.line.run(statement);
    else statement.reject(late);
  };

  const startBorrowing = (slot: Slot): Borrowed => {
    slot.borrowed = true;
    return {
      line: slot.line,
      handBack: () => {
        slot.borrowed = false;
        rest(slot);
        drain();
      },
      discard: () => {
        retire(slot);
        drain();
      },
    };
  };

  return {
    run: (statement, time) =>
      admit({
        alone: false,
        start: (slot) => startStatement(slot, statement, time),
        refuse: (reason) => statement.reject(reason),
      }),
    borrow: () =>
      new Promise((resolve, reject) =>
        admit({ alone: true, start: (slot) => resolve(startBorrowing(slot)), refuse: reject }),
      ),
    end: async () => {
      // A statement that was awaited before `end` reaches the pool one microtask later, and must
      // not be refused.
      await Promise.resolve();
      ended = true;
      for (const request of waiting.splice(0)) request.refuse(new Error("This connection pool was closed."));
      for (const slot of [...slots]) retire(slot);
      await Promise.all(closing);
    },
  };
}

function isIdle(slot: Slot): boolean {
  return !slot.borrowed && slot.running === 0;
}

function leastRunning(slots: Iterable<Slot>): Slot | undefined {
  let least: Slot | undefined;
  for (const slot of slots) {
    if (slot.borrowed || slot.running >= RUNNING_MAX) continue;
    if (least === undefined || slot.running < least.running) least = slot;
  }
  return least;
}
