import { isoInstant } from "../cadence/zone/civil.ts";
import type { WhyAside } from "../quarantine/entries.ts";
import type { Outcome } from "./verdict.ts";

/**
 * Outcomes of an instant that is no occurrence. An engineer asks about such an instant because of
 * the quarantine, so the answer begins with the quarantine.
 */
const elsewhere: ReadonlySet<Outcome> = new Set([
  "not-an-occurrence",
  "before-start",
  "after-end",
  "moved",
  "withdrawn",
  "fired",
]);

/**
 * The sentence of an instant, and one for each part of Carillon that failed on the schedule and
 * retries it.
 */
export function withAside(sentence: string, outcome: Outcome, aside: readonly WhyAside[]): string {
  if (aside.length === 0) return sentence;
  const why = aside.map(asideText).join(" ");
  if (!elsewhere.has(outcome)) return `${sentence} ${why}`;
  return `${why} The instant ${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`;
}

function asideText({ consumer, reason, firstAt, tries, nextAt }: WhyAside): string {
  const times = tries === 1 ? "once" : `${tries} times`;
  return `The schedule has been set aside since ${isoInstant(firstAt.getTime())}, because \`${consumer}\` failed on it ${times} (${reason}): the next retry is at ${isoInstant(nextAt.getTime())}.`;
}
