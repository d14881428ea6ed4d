import { nextRunAfter, previousRunBefore } from "../../lib/cadence/cadence.ts";
import { calendared, cron } from "./arbitrary-calendared.ts";
import { rulesOf } from "./arbitrary-rules.ts";

const spring = rulesOf({ dates: ["02-01..04-30"] });
const now = Date.parse("2026-03-02T10:00:00Z");

/** Cadences that never run, that run in years or that ran years ago, each searched twice. */
export function* cases(): Generator<[string, () => unknown]> {
  for (const on of ["skip", "next"] as const)
    for (const expression of ["0 9 28 2 *", "cron(0 9 1 6 ? 2060)"]) {
      const cadence = calendared(cron(expression, "Europe/Berlin"), on, spring, "Europe/Berlin");
      yield ["first", () => nextRunAfter(cadence, now)];
      yield ["again", () => nextRunAfter(cadence, now + 1_000)];
    }
  for (const on of ["skip", "next"] as const)
    for (const expression of ["0 9 28 2 *", "cron(0 9 1 6 ? 1990)"]) {
      const cadence = calendared(cron(expression, "Europe/Rome"), on, spring, "Europe/Rome");
      yield ["first", () => previousRunBefore(cadence, now)];
      yield ["again", () => previousRunBefore(cadence, now + 3_600_000)];
    }
}
