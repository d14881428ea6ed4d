import { comingAfter } from "../../lib/history/next-occurrences.ts";
import { resolveSpec } from "../../lib/schedule/resolve-spec.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { timetableOf } from "../../lib/schedule/stored/timetable.ts";

const now = new Date("2026-11-21T08:00:00Z");
const whens = ["30 2 29 2 *", "*/7 3 29 2 *", "30 2 * * *", "every 1 month", "0 0 L * *"];
const timezones = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"];

export const occurrences = 1_000;

/**
 * A thousand occurrences of each of these cadences, rare ones among them, in zones with clock
 * changes.
 */
export async function* cases(): AsyncGenerator<[string, () => Promise<void>]> {
  for (const when of whens)
    for (const timezone of timezones) {
      const body = parseScheduleBody({ when, timezone, target: { queue: "demo" } });
      yield [`${when} in ${timezone}`, () => thousandOf(body)];
    }
}

async function thousandOf(body: ReturnType<typeof parseScheduleBody>): Promise<void> {
  const noCalendar = () => Promise.reject(new Error("There is no calendar."));
  const { cadence } = await resolveSpec(noCalendar, "k", body, now);
  const after = now.getTime();
  const timetable = timetableOf({ key: "k", cadence, body, fires: 0 });
  const found = comingAfter(timetable, {
    timezone: body.timezone,
    after,
    n: occurrences,
    limit: null,
  });
  if (found.length <= 20) throw new Error(`Only ${found.length} occurrences were found.`);
}
