import { isPassingFailure } from "../db/passing-failure.ts";
import { MarksMoved } from "./marks.ts";

/**
 * Whether the same is likely to succeed a moment later. Commands that others were in the way of, as often as they began anew, are not:
 * fewer of them together are less in anybody's way.
 */
export function isPassing(error: unknown): boolean {
  return error instanceof MarksMoved || isPassingFailure(error) || isOfTheNetwork(error);
}

/** As Node names what a socket or a resolver answers: ECONNREFUSED, ENOTFOUND. */
function isOfTheNetwork(error: unknown): boolean {
  if (typeof error !== "object" || error === null || !("code" in error)) return false;
  return typeof error.code === "string" && /^E[A-Z_]+$/.test(error.code);
}
