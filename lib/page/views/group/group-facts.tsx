import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { JobSummary } from "../../../client/job.ts";
import type { ScheduleSummary } from "../../../client/schedule.ts";
import { countText, numberText } from "../../data/amounts.ts";
import { scheduleCountQuery } from "../../data/schedule-queries.ts";
import { useSession } from "../../hooks/session-context.ts";

interface GroupFactsProps {
  group: string;
  schedules: readonly ScheduleSummary[];
  jobs: readonly JobSummary[];
  hasMoreJobs: boolean;
}

/** How many schedules and jobs it has, by the server's counts. */
export function GroupFacts({ group, schedules, jobs, hasMoreJobs }: GroupFactsProps) {
  const { carillon } = useSession();
  const all = useQuery(scheduleCountQuery(carillon, { group }));
  const held = useQuery(scheduleCountQuery(carillon, { group, state: "paused" }));
  const running = jobs.filter(({ state }) => state === "running").length;
  const more = hasMoreJobs ? "+" : "";
  const isSerial = schedules.some(({ serial }) => serial);
  return (
    <dl className="figures">
      <div>
        <dt>Schedules</dt>
        <dd>
          <Link to="/schedules" search={{ group }}>
            {all.data === undefined ? "…" : countText(all.data)}
          </Link>
        </dd>
      </div>
      <div>
        <dt>Held</dt>
        <dd>
          <Link to="/schedules" search={{ group, state: "paused" }}>
            {held.data === undefined ? "…" : countText(held.data)}
          </Link>
        </dd>
      </div>
      <div>
        <dt>Jobs running</dt>
        <dd>
          {numberText(running)}
          {more}
        </dd>
      </div>
      <div>
        <dt>Jobs waiting</dt>
        <dd>
          {numberText(jobs.length - running)}
          {more}
        </dd>
      </div>
      <div>
        <dt>At once</dt>
        <dd className="words">{isSerial ? "one job: it is serial" : "no limit of the group"}</dd>
      </div>
    </dl>
  );
}
