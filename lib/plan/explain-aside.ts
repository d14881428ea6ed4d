import { isoInstant } from "../cadence/civil.ts";
import type { WhyAside } from "../quarantine/entries.ts";

/** A sentence for each part of Carillon that failed on the schedule and tries it again; empty where none did. */
export function asideText(aside: readonly WhyAside[]): string {
  return aside
    .map(({ consumer, reason, firstAt, tries, nextAt }) => {
      const times = tries === 1 ? "once" : `${tries} times`;
      return ` The schedule is set aside since ${isoInstant(firstAt.getTime())}, because \`${consumer}\` failed on it ${times} (${reason}): it is tried again at ${isoInstant(nextAt.getTime())}.`;
    })
    .join("");
}
