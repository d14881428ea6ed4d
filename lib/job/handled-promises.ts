import { promiseHooks } from "node:v8";

/**
 * Marks the promise as handled: Node ends the process when a promise rejects that no code awaits.
 */
export function markHandled(promise: Promise<unknown>): void {
  Promise.prototype.then.call(promise, undefined, () => {});
}

/** The promises made since the hook was set; undefined while it is not set. */
let made: Promise<unknown>[] | undefined;

/**
 * Marks every promise that is made during `run` as handled. The hook is set once, so nested calls
 * of `answerHandlingPromises` cost next to nothing.
 */
export function handlingPromises<Answer>(run: () => Answer): Answer {
  if (made !== undefined) return run();
  const own: Promise<unknown>[] = [];
  made = own;
  const stop: unknown = promiseHooks.onInit((promise) => {
    own.push(promise);
  });
  try {
    return run();
  } finally {
    made = undefined;
    if (typeof stop === "function") stop();
    for (const promise of own) markHandled(promise);
  }
}

/**
 * Runs user code that has to answer at once, and marks every promise that it makes as handled. If
 * the code throws, the error is returned with the number of these promises.
 */
export function answerHandlingPromises<Answer>(
  run: () => Answer,
): { answer: Answer } | { error: unknown; promises: number } {
  return handlingPromises(() => {
    const before = made?.length ?? 0;
    try {
      return { answer: run() };
    } catch (error) {
      return { error, promises: (made?.length ?? 0) - before };
    }
  });
}
