import type { Tx } from "../db/connect.ts";
import type { JobKey } from "../job/job-id.ts";
import { type Caller, originText } from "../schedule/shape/caller.ts";
import type { Json } from "../schedule/shape/json.ts";

/** Writes one audit entry per schedule, with the number of its jobs. */
export async function noteJobs(
  tx: Tx,
  action: "jobs.cancelled" | "jobs.retried",
  jobs: readonly Pick<JobKey, "scheduleId">[],
  { caller, detail }: { caller: Caller; detail: { [name: string]: Json } },
): Promise<void> {
  if (jobs.length === 0) return;
  await tx`
    insert into carillon.audit (at, actor, action, subject, schedule_id, version, detail, origin)
    select carillon.clock(), ${caller.name}, ${action}, s.key, s.id, s.version,
      jsonb_build_object('jobs', j.jobs) || ${JSON.stringify(detail)}::text::jsonb, ${originText(caller)}::text::jsonb
    from (
      select schedule_id, count(*) as jobs from unnest(${jobs.map(({ scheduleId }) => scheduleId)}::bigint[]) j (schedule_id) group by 1 order by 1) j
    cross join lateral (select s.key, s.id, s.version from carillon.schedules s where s.id = j.schedule_id offset 0) s`;
}
