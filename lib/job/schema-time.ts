import { Script } from "node:vm";
import { isBounded } from "./bounded-schema.ts";
import { handlingPromises } from "./handled-promises.ts";

/**
 * The schema of a handler ran into its time limit: by an expression that backtracks, or an endless
 * loop.
 */
export class SchemaTooSlow extends Error {
  override readonly name = "SchemaTooSlow";

  constructor(ms: number) {
    super(`The payload cannot be read: its schema takes longer than ${ms} ms.`);
  }
}

/**
 * A schema may take a second. Each time that it exceeds its limit, the limit is halved, down to 50
 * ms; a minute after the last time it is a second again.
 */
const limitMs = { first: 1_000, least: 50 };
const rememberedMs = 60_000;
/**
 * One time limit for many payloads: Node starts a thread for each limit, which costs 0.14 ms of CPU
 * and, when all cores are busy, up to a millisecond. A payload takes about 0.02 ms.
 */
const sharedMs = 100;

interface Slow {
  cuts: number;
  at: number;
}

/** By schema, so that a slow one does not shorten the limit of another handler. */
const slow = new WeakMap<object, Slow>();
/**
 * Set while steps run together. `isTimed`: they share a limit. `isLeft`: a step cannot be done in
 * this pass, which then ends. In a pass without a limit, its schema is one that needs a limit; in a
 * pass under a limit, its schema was slow before, would use up the limit, and so has to run alone.
 */
let shared: { isTimed: boolean; isLeft: boolean } | undefined;

/**
 * Runs synchronous user code under a time limit; throws `SchemaTooSlow` when it is exceeded. The
 * process can do nothing else meanwhile: without a limit, one payload would block a tick or a queue
 * for ever. Code that is ended does not run its `finally` blocks.
 */
export function withinLimit<Answer>(schema: object, run: () => Answer): Answer {
  if (isBounded(schema)) return run();
  const ms = limitOf(schema);
  if (shared !== undefined) {
    if (shared.isTimed && cutsOf(schema) === 0) return run();
    shared.isLeft = true;
    throw new SchemaTooSlow(ms);
  }
  const ended = ending(run, ms);
  if (ended !== undefined) return settledValue(ended);
  slow.set(schema, { cuts: cutsOf(schema) + 1, at: performance.now() });
  throw new SchemaTooSlow(ms);
}

/**
 * Runs the steps one after the other, under few limits for all of them. Each step may call
 * `withinLimit`. A step that runs into a shared limit runs again alone, so it must change nothing
 * before its user code has answered.
 */
export function eachWithinLimit<Item extends object, Answer>(
  items: readonly Item[],
  step: (item: Item, index: number) => Answer,
): Answer[] {
  if (shared !== undefined) return items.map(step);
  const answers: Answer[] = [];
  const take = (ms: number) => steps(answers, items, step, performance.now() + ms);
  handlingPromises(() => together(false, () => take(Number.POSITIVE_INFINITY)));
  while (answers.length < items.length) {
    const isWhole = handlingPromises(() => together(true, () => take(sharedMs / 2)));
    const index = answers.length;
    const item = items[index];
    if (!isWhole && item !== undefined) answers.push(step(item, index));
  }
  return answers;
}

/**
 * Does the next steps and adds their answers to `answers`. Under a limit, steps are started during
 * its first half only, so that the last one has at least the other half.
 */
function steps<Item, Answer>(
  answers: Answer[],
  items: readonly Item[],
  step: (item: Item, index: number) => Answer,
  until: number,
): void {
  for (let index = answers.length; index < items.length && performance.now() < until; index++) {
    const item = items[index];
    if (item === undefined) return;
    const answer = step(item, index);
    if (shared?.isLeft === true) return;
    answers.push(answer);
  }
}

/** Runs steps that share a pass; false if the next step has to run alone. */
function together(isTimed: boolean, run: () => void): boolean {
  const own = { isTimed, isLeft: false };
  shared = own;
  try {
    const ended = isTimed ? ending(run, sharedMs) : { answer: run() };
    if (ended !== undefined) settledValue(ended);
    return ended !== undefined && !own.isLeft;
  } finally {
    shared = undefined;
  }
}

type Ended<Answer> = { answer: Answer } | { error: unknown };

/**
 * The result or the error of code under a limit; undefined if the limit ended the code. Errors are
 * caught inside the script, so that an error of a limit that the code itself sets is not taken for
 * this limit's.
 */
function ending<Answer>(run: () => Answer, ms: number): Ended<Answer> | undefined {
  let ended: Ended<Answer> | undefined;
  Reflect.set(globalThis, place, () => {
    try {
      ended = { answer: run() };
    } catch (error) {
      ended = { error };
    }
  });
  try {
    script.runInThisContext({ timeout: ms });
  } catch (error) {
    if (!isTimeLimit(error)) throw error;
  }
  return ended;
}

/**
 * A script can have a time limit, and a function cannot. The script finds the function under this
 * symbol.
 */
const place = Symbol.for("carillon.withinLimit");
const script = new Script('globalThis[Symbol.for("carillon.withinLimit")]()');

function isTimeLimit(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
}

function settledValue<Answer>(ended: Ended<Answer>): Answer {
  if ("error" in ended) throw ended.error;
  return ended.answer;
}

function cutsOf(schema: object): number {
  const known = slow.get(schema);
  return known !== undefined && performance.now() - known.at < rememberedMs ? known.cuts : 0;
}

function limitOf(schema: object): number {
  return Math.max(limitMs.least, limitMs.first / 2 ** cutsOf(schema));
}
