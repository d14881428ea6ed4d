import type { Tx } from "../db/connect.ts";
import type { JobKey } from "../job/job-id.ts";
import type { Json } from "../schedule/json.ts";

/** In the audit: one entry per schedule, with the number of its jobs. */
export async function noteJobs(
  tx: Tx,
  action: "jobs.cancelled" | "jobs.retried",
  jobs: readonly Pick<JobKey, "scheduleId">[],
  { caller, detail }: { caller: { name: string }; detail: { [name: string]: Json } },
): Promise<void> {
  if (jobs.length === 0) return;
  await tx`
    insert into carillon.audit (at, actor, action, subject, schedule_id, version, detail)
    select carillon.clock(), ${caller.name}, ${action}, s.key, s.id, s.version,
      jsonb_build_object('jobs', count(*)) || ${JSON.stringify(detail)}::text::jsonb
    from unnest(${jobs.map(({ scheduleId }) => scheduleId)}::bigint[]) j (schedule_id) join carillon.schedules s on s.id = j.schedule_id
    group by s.id order by s.id`;
}
