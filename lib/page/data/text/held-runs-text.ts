import type { Schedule } from "../../../client/schedule.ts";
import { numberText } from "../amounts.ts";

type Held = Pick<Schedule, "catchUp" | "delivery">;

/** Before a hold: what becomes of the runs that fall into it. The words follow the schedule's policy. */
export const intoHoldText = (schedule: Held): string =>
  keptText(schedule, "Runs that fall into the hold", "when it ends");

/** Before a release: which of the runs that the hold kept back run then. */
export function releasedRunsText(schedule: Held, otherHolds: number): string {
  if (otherHolds === 0) return keptText(schedule, "Runs that the hold kept back", "at once");
  const others = otherHolds === 1 ? "Another hold remains" : `${numberText(otherHolds)} other holds remain`;
  return `${others}: no run comes before ${otherHolds === 1 ? "that one has" : "they have"} ended too. ${keptText(schedule, "Runs that were held", "then")}`;
}

function keptText(
  { catchUp: { policy, within, limit }, delivery }: Held,
  runs: string,
  when: string,
): string {
  if (delivery === "pulse") return `${runs} are not made up for: this schedule sends pulses.`;
  const aged = within === null ? "" : `, none older than ${within}`;
  const chosen = {
    skip: `${runs} are not made up for`,
    latest: `${runs}: only the newest one runs ${when}${aged}`,
    all: `${runs}: the newest ${numberText(limit)} run ${when}, oldest first${aged}`,
  };
  // Such a run is late and not missed, under every policy.
  return `${chosen[policy]} (catch-up ${policy}). A run that is at most two minutes late runs in any case.`;
}
