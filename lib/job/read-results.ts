import { isPromise } from "node:util/types";
import { markHandled } from "./handled-promises.ts";
import { Again, type Done, done, saidBy } from "./handler-results.ts";

/** The result of a handler of one job. A value that is not understood is a failure. */
export function singleResult(name: string, returned: unknown): JobResult {
  if (returned === undefined) return done;
  return (
    successOf(returned) ??
    new TypeError(`The handler ${name} returned an unknown value; it may return nothing, done or again(…).`)
  );
}

/**
 * The results of the jobs of a group. A job without proof of success has failed: one that the
 * returned results do not name, name twice, or give an unknown result.
 */
export function groupResults(name: string, ids: readonly string[], returned: unknown): readonly JobResult[] {
  if (returned === undefined) return ids.map(() => done);
  const byId = new Map<string, unknown>();
  const twice = new Set<string>();
  for (const [id, result] of pairsOf(name, ids.length * pairsMax, returned)) {
    if (!ids.includes(id))
      throw new TypeError(`The handler ${name} gave a result for ${id}, which is not one of its jobs.`);
    if (byId.has(id)) twice.add(id);
    byId.set(id, result);
  }
  return ids.map((id) => {
    if (!byId.has(id)) return new Error(`The handler ${name} gave results, but none for this job.`);
    if (twice.has(id)) return new TypeError(`The handler ${name} gave two results for this job.`);
    return resultInGroup(name, byId.get(id));
  });
}

type Pair = [id: string, result: unknown];

/** Pairs read for each job: the results of a handler may be endless. */
const pairsMax = 2;

function pairsOf(name: string, most: number, returned: unknown): Pair[] {
  const odd = () =>
    new TypeError(
      `The handler ${name} returned an unknown value; it may return nothing, or a pair of id and result for each job.`,
    );
  if (typeof returned !== "object" || returned === null || !(Symbol.iterator in returned)) throw odd();
  const pairs: unknown[] = [];
  for (const pair of returned as Iterable<unknown>) {
    if (pairs.length === most)
      throw new TypeError(`The handler ${name} gave more than ${most} results for ${most / pairsMax} jobs.`);
    pairs.push(pair);
  }
  for (const pair of pairs) if (Array.isArray(pair) && isPromise(pair[1])) markHandled(pair[1]);
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
      `The handler ${name} gave an unknown result for this job; allowed are done, again(…), retryAt(…), retryAfter(…), giveUp(…) and an error.`,
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

/** The result of one job of a run; an error is a failed attempt. */
export type JobResult = Done | Again | Error;
