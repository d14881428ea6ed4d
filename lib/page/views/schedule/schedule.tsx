import { useQuery } from "@tanstack/react-query";
import { useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { isNotFound } from "../../../client/request/problem.ts";
import { nextQuery, pastQuery, scheduleQuery } from "../../data/one-schedule-queries.ts";
import { useRefreshMs } from "../../hooks/live.tsx";
import { useSession } from "../../hooks/session-context.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { Actions } from "./actions.tsx";
import { ComingList } from "./coming-list.tsx";
import { Definition } from "./definition.tsx";
import { Deleted } from "./deleted.tsx";
import { Missing } from "./missing.tsx";
import { PastRuns } from "./past-runs.tsx";
import { RunMonth } from "./run-month.tsx";
import { RunTimes } from "./run-times.tsx";
import { Saved } from "./saved.tsx";
import { ScheduleHead } from "./schedule-head.tsx";
import { Versions } from "./versions.tsx";
import { Why } from "./why.tsx";
import "../../look/schedule.css";
import "../../look/schedule-parts.css";

const refreshMs = 10_000;

export function ScheduleView() {
  const { carillon } = useSession();
  const { key } = useParams({ from: "/schedules/$key" });
  const { why, month } = useSearch({ from: "/schedules/$key" });
  const often = { refetchInterval: useRefreshMs(refreshMs) };
  const schedule = useQuery({ ...scheduleQuery(carillon, key), ...often });
  const isGone = isNotFound(schedule.error);
  const next = useQuery({ ...nextQuery(carillon, key), ...often, enabled: !isGone });
  const past = useQuery({ ...pastQuery(carillon, key), ...often });
  const current = isGone ? undefined : schedule.data;
  const [isDeleting, setDeleting] = useState(false);
  const acted = isDeleting ? schedule.data : current;
  const isMissing = isGone && past.data?.deleted == null && !past.isPending;
  const newest = past.data?.items.find(({ occurrence }) => Date.parse(occurrence) <= past.dataUpdatedAt);
  return (
    <>
      <ScheduleHead
        seen={schedule}
        everyMs={refreshMs}
        name={key}
        schedule={current}
        deleted={past.data?.deleted ?? null}
      />
      <Saved key={key} name={key} />
      {acted === undefined ? null : <Actions schedule={acted} onDeleting={setDeleting} />}
      {isMissing ? <Missing name={key} /> : null}
      {current === undefined && !isGone ? (
        <AnswerState
          error={schedule.error}
          isPending={schedule.isPending}
          retry={() => void schedule.refetch()}
        />
      ) : null}
      {isMissing ? null : (
        <>
          <div className="two">
            <PastRuns name={key} strip={past.data} explained={why} />
            <Why name={key} at={why ?? newest?.occurrence} isAsked={why !== undefined} />
          </div>
          <RunTimes name={key} strip={past.data} />
        </>
      )}
      {isGone && past.data?.deleted != null ? (
        <>
          <Deleted name={key} />
          <Versions name={key} current={null} />
        </>
      ) : null}
      {isGone ? null : (
        <>
          <div className="two">
            <ComingList name={key} next={next.data} />
            {current === undefined ? null : <RunMonth name={key} timezone={current.timezone} month={month} />}
          </div>
          {current === undefined ? null : <Definition schedule={current} />}
          <Versions name={key} current={current?.version} />
        </>
      )}
    </>
  );
}
