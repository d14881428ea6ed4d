import { setImmediate } from "node:timers/promises";

/** To read a list of crons takes milliseconds. */
const stepsInATurn = 25;

/** To be awaited before each of many steps that compute: after some of them what else waits for the program has its turn. */
export function yieldOften(): () => Promise<void> {
  let steps = 0;
  return async () => {
    steps += 1;
    if (steps % stepsInATurn === 0) await setImmediate();
  };
}
