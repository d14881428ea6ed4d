import { isPromise } from "node:util/types";
import { Again, type Done, done, saidBy } from "./handler-results.ts";
import { hear } from "./hear-promises.ts";

/** What a handler of one job returned. Only what is understood is no failure. */
export function singleResult(name: string, returned: unknown): JobResult {
  if (returned === undefined) return done;
  return (
    successOf(returned) ??
    new TypeError(`The handler ${name} returned something else than nothing, done or again(…).`)
  );
}

/**
 * Unproven means failed: a job that is not named in what the handler returned is not done, and neither is one of which it says something
 * else than it may, or two things.
 */
export function groupResults(name: string, ids: readonly string[], returned: unknown): readonly JobResult[] {
  if (returned === undefined) return ids.map(() => done);
  const byId = new Map<string, unknown>();
  const twice = new Set<string>();
  for (const [id, result] of pairsOf(name, ids.length * pairsMax, returned)) {
    if (!ids.includes(id))
      throw new TypeError(`The handler ${name} gave a result for ${id}, which is none of its jobs.`);
    if (byId.has(id)) twice.add(id);
    byId.set(id, result);
  }
  return ids.map((id) => {
    if (!byId.has(id)) return new Error(`The handler ${name} gave results, and none for this job.`);
    if (twice.has(id)) return new TypeError(`The handler ${name} gave two results for this job.`);
    return resultInGroup(name, byId.get(id));
  });
}

type Pair = [id: string, result: unknown];

/** Pairs read for each job: the results of a handler may have no end. */
const pairsMax = 2;

function pairsOf(name: string, most: number, returned: unknown): Pair[] {
  const odd = () =>
    new TypeError(
      `The handler ${name} returned something else than nothing or, for each job, a pair of its id and its result.`,
    );
  if (typeof returned !== "object" || returned === null || !(Symbol.iterator in returned)) throw odd();
  const pairs: unknown[] = [];
  for (const pair of returned as Iterable<unknown>) {
    if (pairs.length === most)
      throw new TypeError(`The handler ${name} gave more than ${most} results for ${most / pairsMax} jobs.`);
    pairs.push(pair);
  }
  for (const pair of pairs) if (Array.isArray(pair) && isPromise(pair[1])) hear(pair[1]);
  return pairs.map((pair): Pair => {
    const [id, result]: unknown[] = Array.isArray(pair) ? pair : [];
    if (typeof id !== "string") throw odd();
    return [id, result];
  });
}

function resultInGroup(name: string, result: unknown): JobResult {
  return (
    successOf(result) ??
    errorIn(result) ??
    new TypeError(
      `The handler ${name} gave for this job something else than done, again(…), retryAt(…), retryAfter(…), giveUp(…) or an error.`,
    )
  );
}

function successOf(result: unknown): JobResult | null {
  const said = saidBy(result);
  if (said?.kind === "done") return done;
  return said?.kind === "again" ? new Again(said.wanted) : null;
}

function errorIn(result: unknown): Error | null {
  try {
    return result instanceof Error ? result : null;
  } catch {
    // A proxy of the handler's own.
    return null;
  }
}

/** How one job of a run ended; an error is a failed attempt of it. */
export type JobResult = Done | Again | Error;
