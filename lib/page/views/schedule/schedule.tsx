import { useQuery } from "@tanstack/react-query";
import { useParams, useSearch } from "@tanstack/react-router";
import { useRefreshMs } from "../../app/live.tsx";
import { useSession } from "../../app/session-context.ts";
import { nextQuery, pastQuery, scheduleQuery } from "../../data/one-schedule-queries.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { ComingList } from "./coming-list.tsx";
import { PastRuns } from "./past-runs.tsx";
import { ScheduleHead } from "./schedule-head.tsx";
import { Versions } from "./versions.tsx";
import { Why } from "./why.tsx";
import "../../look/schedule.css";

const refreshMs = 10_000;

export function ScheduleView() {
  const { carillon } = useSession();
  const { key } = useParams({ from: "/schedules/$key" });
  const { why } = useSearch({ from: "/schedules/$key" });
  const often = { refetchInterval: useRefreshMs(refreshMs) };
  const schedule = useQuery({ ...scheduleQuery(carillon, key), ...often });
  const next = useQuery({ ...nextQuery(carillon, key), ...often });
  const past = useQuery({ ...pastQuery(carillon, key), ...often });
  const newest = past.data?.items.find(({ occurrence }) => Date.parse(occurrence) <= past.dataUpdatedAt);
  return (
    <>
      <ScheduleHead
        at={schedule.dataUpdatedAt}
        name={key}
        schedule={schedule.data}
        deleted={past.data?.deleted ?? null}
      />
      {schedule.data === undefined && past.data?.deleted == null ? (
        <AnswerState
          error={schedule.error}
          isPending={schedule.isPending}
          retry={() => void schedule.refetch()}
        />
      ) : null}
      <div className="two">
        <PastRuns name={key} strip={past.data} />
        <Why name={key} at={why ?? newest?.occurrence} timezone={schedule.data?.timezone} />
      </div>
      <div className="two">
        <ComingList name={key} next={next.data} />
        <Versions name={key} />
      </div>
    </>
  );
}
