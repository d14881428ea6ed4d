import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { linesOf } from "../../data/job/attempt-lines.ts";
import { explainQuery, jobQuery } from "../../data/one-schedule-queries.ts";
import { stateWord } from "../../data/outcomes.ts";
import { useRefreshMs } from "../../hooks/live.tsx";
import { useSession } from "../../hooks/session-context.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Explained } from "../../parts/explained.tsx";
import { Freshness } from "../../parts/freshness.tsx";
import { LogsLink } from "../../parts/logs-link.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Stages } from "../../parts/stages.tsx";
import { PayloadText } from "../schedule/payload-text.tsx";
import { JobActions } from "./job-actions.tsx";
import { JobFacts } from "./job-facts.tsx";
import "../../look/schedule.css";

const refreshMs = 5_000;

/** One job: its story in a sentence, its attempts on a line of time, its payload. */
export function JobView() {
  const { carillon } = useSession();
  const { id } = useParams({ from: "/jobs/$id" });
  const often = { refetchInterval: useRefreshMs(refreshMs) };
  const job = useQuery({ ...jobQuery(carillon, id), ...often });
  const { key, occurrence } = job.data ?? {};
  const explanation = useQuery({
    ...explainQuery(carillon, key ?? "", occurrence ?? ""),
    ...often,
    enabled: key !== undefined && occurrence !== undefined,
  });
  if (job.data === undefined)
    return <AnswerState error={job.error} isPending={job.isPending} retry={() => void job.refetch()} />;
  return (
    <>
      <header className="schedule-head">
        <div className="head-actions">
          <h1 className="mono">{id}</h1>
          <Freshness of={job} everyMs={refreshMs} />
        </div>
        <p className="quiet">
          a {job.data.kind} job of{" "}
          <Link
            to="/schedules/$key"
            params={{ key: job.data.key }}
            search={{ why: occurrence }}
            className="link mono"
          >
            {job.data.key}
          </Link>
          : {stateWord(job.data)}
        </p>
        <div className="head-actions">
          <JobActions job={job.data} />
        </div>
      </header>
      <Panel title="What happened">
        <div className="why">
          {explanation.data === undefined ? null : <Explained explanation={explanation.data} />}
          <JobFacts job={job.data} />
          <Stages job={job.data} />
          <p className="job-links">
            <LogsLink job={job.data} lines={linesOf(job.data)} />
            <CopyButton text={`carillon job ${id}`} />
          </p>
        </div>
      </Panel>
      <Panel title="Payload">
        <PayloadText payload={job.data.payload} command={`carillon job ${id}`} />
      </Panel>
    </>
  );
}
