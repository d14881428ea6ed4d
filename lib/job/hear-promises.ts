import { promiseHooks } from "node:v8";

/** Node ends the process for a promise that rejects while no code listens to it. */
export function hear(promise: Promise<unknown>): void {
  Promise.prototype.then.call(promise, undefined, () => {});
}

/** Runs code of a user's that is to answer at once, and hears every promise that it makes meanwhile. Says how many there were. */
export function hearing<Answer>(
  run: () => Answer,
): { answer: Answer } | { error: unknown; promises: number } {
  const made: Promise<unknown>[] = [];
  const stop: unknown = promiseHooks.onInit((promise) => {
    made.push(promise);
  });
  try {
    return { answer: run() };
  } catch (error) {
    return { error, promises: made.length };
  } finally {
    if (typeof stop === "function") stop();
    for (const promise of made) hear(promise);
  }
}
