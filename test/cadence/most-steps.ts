import { mostWithin } from "../../lib/cadence/most-within.ts";
import { cron } from "./arbitrary-calendared.ts";

/**
 * Two checks of each cadence. The first one compiles the expression, so the second one shows the
 * steps of the check alone.
 */
export function* cases(): Generator<[string, () => unknown]> {
  for (const [expression, zone] of [
    ["0 9 * * *", "UTC"],
    ["15,45 9-17 * * 1-5", "Europe/Berlin"],
  ] as const) {
    const cadence = cron(expression, zone);
    yield ["first", () => mostWithin(cadence, 600_000)];
    yield ["again", () => mostWithin(cadence, 900_000)];
  }
}
