import type { EditDone } from "../../edit/edit-transaction.ts";
import type { Answer } from "../request/answer.ts";
import { etagOf } from "../request/etag.ts";
import { scheduleView } from "./schedule-view.ts";

/**
 * The answer of every edit: the schedule after the edit, and its coming occurrences before and
 * after.
 */
export function edited({ change, schedule, changes }: EditDone): Answer {
  const headers = { etag: etagOf(schedule.version) };
  const body = { ...scheduleView(schedule), changes };
  return change === "created"
    ? {
        status: 201,
        body,
        headers: { ...headers, location: `/v1/schedules/${encodeURIComponent(schedule.key)}` },
      }
    : { status: 200, body, headers };
}
