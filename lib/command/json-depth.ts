import { Refusal } from "../refusal.ts";
import { outsideStrings } from "./exact-numbers.ts";

/** More than any input of ours has, a batch of schedules whose payloads are as deep as they may be included. */
export const inputDepthMax = 64;

/** Before anything is made of it: what is nested a million times exhausts whoever walks through it. */
export function refuseDeep(text: string, what = "body"): void {
  let depth = 0;
  for (const stretch of outsideStrings(text)) {
    for (const [bracket] of stretch.matchAll(/[[\]{}]/g)) {
      depth += bracket === "[" || bracket === "{" ? 1 : -1;
      if (depth > inputDepthMax)
        throw new Refusal("invalid", `The ${what} is nested more than ${inputDepthMax} levels deep.`);
    }
  }
}
