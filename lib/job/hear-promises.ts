import { promiseHooks } from "node:v8";

/** Node ends the process for a promise that rejects while no code listens to it. */
export function hear(promise: Promise<unknown>): void {
  Promise.prototype.then.call(promise, undefined, () => {});
}

/** The promises that were made since the hook was set; undefined while it is not. */
let made: Promise<unknown>[] | undefined;

/** Hears every promise that is made while this runs. Inside of it `hearing` costs next to nothing: the hook is set once. */
export function hearingAll<Answer>(run: () => Answer): Answer {
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
    for (const promise of own) hear(promise);
  }
}

/** Runs code of a user's that is to answer at once, and hears every promise that it makes meanwhile. Says how many there were. */
export function hearing<Answer>(
  run: () => Answer,
): { answer: Answer } | { error: unknown; promises: number } {
  return hearingAll(() => {
    const before = made?.length ?? 0;
    try {
      return { answer: run() };
    } catch (error) {
      return { error, promises: (made?.length ?? 0) - before };
    }
  });
}
