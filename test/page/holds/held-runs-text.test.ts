import { describe, expect, test } from "vitest";
import type { CatchUp } from "../../../lib/client/policies.ts";
import { intoHoldText, releasedRunsText } from "../../../lib/page/data/text/held-runs-text.ts";

const scheduleWith = (catchUp: Partial<CatchUp>, delivery: "ledger" | "pulse" = "ledger") => ({
  catchUp: { policy: "latest" as const, within: null, limit: 100, ...catchUp },
  delivery,
});
const young =
  "Runs that are planned already, and those that are due in its last two minutes, run when it ends under every policy.";
const lately = (when: string) =>
  `Runs that were planned before the hold, and those of the two minutes before its end, run ${when} under every policy.`;

describe("the runs that a hold keeps back", () => {
  test.each([
    {
      catchUp: { policy: "latest" },
      text: `Runs that fall into the hold: only the newest one runs when it ends (catch-up latest). ${young}`,
    },
    {
      catchUp: { policy: "all", limit: 2_000, within: "6h" },
      text: `Runs that fall into the hold: the newest 2,000 run when it ends, oldest first, none older than 6h (catch-up all). ${young}`,
    },
    {
      catchUp: { policy: "skip" },
      text: `Runs that fall into the hold are not made up for (catch-up skip). ${young}`,
    },
  ] as const)(
    "A hold says what becomes of its runs by the policy of the schedule: $catchUp.policy",
    (each) => {
      expect(intoHoldText(scheduleWith(each.catchUp))).toBe(each.text);
    },
  );

  test("A hold of a pulse says that none is made up for", () => {
    expect(intoHoldText(scheduleWith({}, "pulse"))).toBe(
      "Runs that fall into the hold are not made up for: this schedule sends pulses.",
    );
  });

  test("A release says which runs come at once, or that another hold keeps them", () => {
    expect(releasedRunsText(scheduleWith({}), 0)).toBe(
      `Runs that the hold kept back: only the newest one runs at once (catch-up latest). ${lately("at once")}`,
    );
    expect(releasedRunsText(scheduleWith({ policy: "skip" }), 1)).toBe(
      `Another hold remains: no run comes before that one has ended too. Runs that were held are not made up for (catch-up skip). ${lately("then")}`,
    );
  });
});
