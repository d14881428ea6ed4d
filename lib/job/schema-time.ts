import { Script } from "node:vm";
import { isBounded } from "./bounded-schema.ts";
import { hearingAll } from "./hear-promises.ts";

/** A handler's schema ran into its time limit: an expression that backtracks, or a loop without an end. */
export class SchemaTooSlow extends Error {
  override readonly name = "SchemaTooSlow";

  constructor(ms: number) {
    super(`The payload cannot be read: its schema takes longer than ${ms} ms.`);
  }
}

/** The first payload that takes too long has a second. The limit of its schema is then halved, down to 50 ms, until a minute has passed. */
const limitMs = { first: 1_000, least: 50 };
const rememberedMs = 60_000;
/**
 * One time limit for many payloads: Node starts a thread for each, which costs 0.14 ms of CPU and, where all cores are busy, up to a millisecond. A payload takes some
 * 0.02 ms.
 */
const sharedMs = 100;

interface Slow {
  cuts: number;
  at: number;
}

/** By schema, so that a slow one does not shorten the limit of another handler. */
const slow = new WeakMap<object, Slow>();
/**
 * Set while steps are taken together. `isTimed`: under a limit. `isLeft`: a step has met a schema that cannot be read so, and is to be taken again: without a
 * limit, one that is not bounded; under it, one that was slow before and would use it up.
 */
let shared: { isTimed: boolean; isLeft: boolean } | undefined;

/**
 * Runs synchronous code of a user's under a time limit; throws `SchemaTooSlow` where it is exceeded. The process can do nothing else
 * meanwhile: without a limit, one payload would keep a tick or a queue for ever. Code that is ended runs no `finally` of its own.
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
 * Takes one step after the other, each of which may run `withinLimit`, under few limits for all. A step that runs into a shared limit is
 * taken again by itself, so it must change nothing before its user's code has answered.
 */
export function eachWithinLimit<Item extends object, Answer>(
  items: readonly Item[],
  step: (item: Item, index: number) => Answer,
): Answer[] {
  if (shared !== undefined) return items.map(step);
  const answers: Answer[] = [];
  const take = (ms: number) => steps(answers, items, step, performance.now() + ms);
  hearingAll(() => together(false, () => take(Number.POSITIVE_INFINITY)));
  while (answers.length < items.length) {
    const isWhole = hearingAll(() => together(true, () => take(sharedMs / 2)));
    const index = answers.length;
    const item = items[index];
    if (!isWhole && item !== undefined) answers.push(step(item, index));
  }
  return answers;
}

/** Under a limit as many as fit into half of it, so that each has the other half. */
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

/** False where the next step is to be taken by itself. */
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

/** Undefined where the limit ended it. What the code throws is caught inside, since it may throw the error of a limit of its own. */
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

/** A script has a time limit, and a function has none: it finds the function here. */
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
