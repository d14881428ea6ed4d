import type { Schedule } from "../../../client/schedule.ts";
import { numberText } from "../amounts.ts";

type Held = Pick<Schedule, "catchUp" | "delivery">;

/** Before a hold: what becomes of the runs that fall into it. The words follow the schedule's policy. */
export const intoHoldText = (schedule: Held): string =>
  keptText(schedule, {
    runs: "Runs that fall into the hold",
    when: "when it ends",
    young: "Runs that are planned already, and those that are due in its last two minutes,",
  });

/** Before a release: which of the runs that the hold kept back run then. */
export function releasedRunsText(schedule: Held, otherHolds: number): string {
  if (otherHolds === 0)
    return keptText(schedule, { runs: "Runs that the hold kept back", when: "at once", young: lately });
  const others = otherHolds === 1 ? "Another hold remains" : `${numberText(otherHolds)} other holds remain`;
  return `${others}: no run comes before ${otherHolds === 1 ? "that one has" : "they have"} ended too. ${keptText(schedule, { runs: "Runs that were held", when: "then", young: lately })}`;
}

const lately = "Runs that were planned before the hold, and those of the two minutes before its end,";

interface Words {
  runs: string;
  when: string;
  /** The runs that are late at that time and not missed: they run under every policy. */
  young: string;
}

function keptText(
  { catchUp: { policy, within, limit }, delivery }: Held,
  { runs, when, young }: Words,
): string {
  if (delivery === "pulse") return `${runs} are not made up for: this schedule sends pulses.`;
  const aged = within === null ? "" : `, none older than ${within}`;
  const chosen = {
    skip: `${runs} are not made up for`,
    latest: `${runs}: only the newest one runs ${when}${aged}`,
    all: `${runs}: the newest ${numberText(limit)} run ${when}, oldest first${aged}`,
  };
  return `${chosen[policy]} (catch-up ${policy}). ${young} run ${when} under every policy.`;
}
