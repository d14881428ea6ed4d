import { useInfiniteQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { groupQuery } from "../../data/group-queries.ts";
import { moreOf } from "../../data/more.ts";
import { useRefreshMs } from "../../hooks/live.tsx";
import { useSession } from "../../hooks/session-context.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { GroupActions } from "./group-actions.tsx";
import { GroupFacts } from "./group-facts.tsx";
import { GroupHolds } from "./group-holds.tsx";
import { GroupJobs } from "./group-jobs.tsx";
import { MemberTable } from "./member-table.tsx";
import "../../look/tables.css";
import "../../look/more.css";

const refreshMs = 10_000;

/** The schedules of one group: what runs, what waits and for what, and what holds them. */
export function GroupView() {
  const { carillon } = useSession();
  const { group } = useParams({ from: "/groups/$group" });
  const pages = useInfiniteQuery({
    ...groupQuery(carillon, group),
    refetchInterval: useRefreshMs(refreshMs),
  });
  const [first] = pages.data?.pages ?? [];
  const schedules = pages.data?.pages.flatMap((page) => page.schedules) ?? [];
  const jobs = pages.data?.pages.flatMap((page) => page.jobs) ?? [];
  const hasMoreJobs = pages.hasNextPage || pages.data?.pages.some(({ moreJobs }) => moreJobs) === true;
  return (
    <>
      <header className="title">
        <h1>
          Group <span className="mono">{group}</span>
        </h1>
        {first === undefined ? null : <GroupActions group={group} holds={first.holds} />}
      </header>
      <AnswerState error={pages.error} isPending={pages.isPending} retry={() => void pages.refetch()} />
      {first === undefined ? null : (
        <>
          <GroupFacts group={group} schedules={schedules} jobs={jobs} hasMoreJobs={hasMoreJobs} />
          <GroupHolds holds={first.holds} />
          <GroupJobs group={group} jobs={jobs} hasMore={hasMoreJobs} />
          <MemberTable schedules={schedules} {...moreOf(pages)} />
        </>
      )}
    </>
  );
}
