import { useQuery } from "@tanstack/react-query";
import {
  lastHourQuery,
  nextHourQuery,
  nextRunsQuery,
  problemsQuery,
  statsQuery,
} from "../../data/now-queries.ts";
import { lastHourOutagesQuery } from "../../data/outage-queries.ts";
import { useRefreshMs } from "../../hooks/live.tsx";
import { useSession } from "../../hooks/session-context.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { FirstSchedule } from "../../parts/first-schedule.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Attention } from "./attention.tsx";
import { ComingRuns } from "./coming-runs.tsx";
import { Facts } from "./facts.tsx";
import { Timeline } from "./timeline.tsx";
import { VerdictLine } from "./verdict-line.tsx";
import "../../look/now.css";

const refreshMs = 5_000;
const slowRefreshMs = 30_000;

/** Is it on time? What is wrong? What comes next? */
export function Now() {
  const { carillon } = useSession();
  const often = { refetchInterval: useRefreshMs(refreshMs) };
  const seldom = { refetchInterval: useRefreshMs(slowRefreshMs) };
  const problems = useQuery({ ...problemsQuery(carillon), ...often });
  const stats = useQuery({ ...statsQuery(carillon), ...often });
  const lastHour = useQuery({ ...lastHourQuery(carillon), ...often });
  const outages = useQuery({ ...lastHourOutagesQuery(carillon), ...seldom });
  const nextHour = useQuery({ ...nextHourQuery(carillon), ...seldom });
  const nextRuns = useQuery({ ...nextRunsQuery(carillon), ...seldom });
  if (problems.data === undefined)
    return (
      <>
        <header className="title">
          <h1>Now</h1>
        </header>
        <AnswerState
          error={problems.error}
          isPending={problems.isPending}
          retry={() => void problems.refetch()}
        />
      </>
    );
  return (
    <>
      <VerdictLine
        problems={problems.data}
        stats={stats.data}
        outages={outages.data ?? []}
        seen={problems}
        everyMs={refreshMs}
      />
      {stats.data?.schedules.total === 0 ? (
        <Panel title="The first schedule">
          <FirstSchedule />
        </Panel>
      ) : null}
      <Facts stats={stats.data} forecast={nextHour.data} />
      <Timeline
        past={lastHour.data?.items}
        coming={nextHour.data?.minutes}
        outages={outages.data}
        seenAt={outages.dataUpdatedAt}
      />
      <Attention problems={problems.data.problems} />
      <ComingRuns runs={nextRuns.data} />
    </>
  );
}
