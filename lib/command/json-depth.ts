import { Refusal } from "../refusal.ts";
import { outsideStrings } from "./exact-numbers.ts";

/** More than any input of ours has, a batch of schedules whose payloads are as deep as they may be included. */
export const inputDepthMax = 64;

const opening = { array: "[".charCodeAt(0), object: "{".charCodeAt(0) };
const closing = { array: "]".charCodeAt(0), object: "}".charCodeAt(0) };

/** Before anything is made of it: what is nested a million times exhausts whoever walks through it. */
export function refuseDeep(text: string, what = "body"): void {
  let depth = 0;
  for (const stretch of outsideStrings(text)) {
    for (let at = 0; at < stretch.length; at += 1) {
      const character = stretch.charCodeAt(at);
      if (character === opening.array || character === opening.object) depth += 1;
      if (character === closing.array || character === closing.object) depth -= 1;
      if (depth > inputDepthMax)
        throw new Refusal("invalid", `The ${what} is nested more than ${inputDepthMax} levels deep.`);
    }
  }
}
