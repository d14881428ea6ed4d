import { Refusal } from "../refusal.ts";
import { outsideStrings } from "./exact-numbers.ts";

/**
 * Deeper than any valid input, including a batch of schedules whose payloads have the greatest
 * depth allowed.
 */
export const inputDepthMax = 64;

const opening = { array: "[".charCodeAt(0), object: "{".charCodeAt(0) };
const closing = { array: "]".charCodeAt(0), object: "}".charCodeAt(0) };

/**
 * Checks the text before it is parsed: JSON nested a million deep exhausts the stack of any code
 * that walks it.
 */
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
