import { resolveSpec } from "../../lib/schedule/resolve-spec.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";

const now = new Date("2026-03-02T10:00:00Z");
const weekends = { id: 1, versionId: 1, rules: { dates: ["12-24..12-26"], weekly: ["sat", "sun"] } } as const;

const cadences = {
  daily: { when: "0 9 * * *" },
  zoned: { when: "0 9 * * *", timezone: "Europe/Berlin" },
  skipping: { when: "0 9 * * *", calendar: { name: "weekends" } },
  moving: { when: "0 9 * * *", timezone: "Europe/Berlin", calendar: { name: "weekends", on: "next" } },
  irregular: { when: "3,17,42 9-17 * * 1-5", calendar: { name: "weekends", on: "previous" } },
};

/** Each cadence resolved without a spread, and with several spreads. */
export async function* cases(): AsyncGenerator<[string, () => Promise<unknown>]> {
  for (const [name, cadence] of Object.entries(cadences)) {
    for (const spread of ["0s", "10m", "12h"]) {
      const body = parseScheduleBody({ ...cadence, spread, target: { queue: "demo" } });
      const resolve = () => resolveSpec(async () => weekends, "key", body, now);
      await resolve();
      yield [`${name} ${spread}`, resolve];
    }
  }
}
