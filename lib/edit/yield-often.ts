import { setImmediate } from "node:timers/promises";

/**
 * How many steps are computed before other work of the process can run. One step, such as reading a
 * list of crons, takes milliseconds.
 */
const stepsInATurn = 25;

/**
 * Returns a function to await before each of many computing steps: after every `stepsInATurn` of
 * them it lets other work of the process run.
 */
export function yieldOften(): () => Promise<void> {
  let steps = 0;
  return async () => {
    steps += 1;
    if (steps % stepsInATurn === 0) await setImmediate();
  };
}
