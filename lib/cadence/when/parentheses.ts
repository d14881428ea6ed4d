import { invalid, type WhenFault } from "../fault.ts";

/**
 * The text in the parentheses of `rate(…)` and `at(…)`. The closing one must be the last character.
 */
export function parenthesised(text: string, openAt: number): { ok: true; inner: string } | WhenFault {
  if (text.charAt(openAt) !== "(") return invalid(openAt, "A ( is missing here.");
  const closeAt = text.indexOf(")", openAt);
  if (closeAt < 0) return invalid(text.length, "The closing ) is missing.");
  if (closeAt < text.length - 1) return invalid(closeAt + 1, "Nothing can follow the closing ).");
  return { ok: true, inner: text.slice(0, closeAt).replace(/[ \t]+$/, "") };
}

export function skipBlanks(text: string, from: number): number {
  let at = from;
  while (text.charAt(at) === " " || text.charAt(at) === "\t") at += 1;
  return at;
}
