import type { EditDone } from "../../edit/edit-transaction.ts";
import type { Answer } from "../request/answer.ts";
import { etagOf } from "../request/etag.ts";
import { scheduleView } from "./schedule-view.ts";

/** What every edit of a schedule answers with: the schedule as it is now, and what the edit changed in what is to come. */
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
