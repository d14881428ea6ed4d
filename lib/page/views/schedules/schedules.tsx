import { useInfiniteQuery, useQueries, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useSession } from "../../app/session-context.ts";
import { countText } from "../../data/amounts.ts";
import { lastRunsQuery, scheduleCountQuery, schedulesQuery } from "../../data/schedule-queries.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { Freshness } from "../../parts/freshness.tsx";
import { ScheduleFilters } from "./schedule-filters.tsx";
import { filterOf, readScheduleSearch, type ScheduleSearch } from "./schedule-search.ts";
import { ScheduleTable } from "./schedule-table.tsx";
import "../../look/table.css";

/** All schedules of a filter, with the strip of their last runs. */
export function Schedules() {
  const { carillon } = useSession();
  const search = readScheduleSearch(useSearch({ from: "/schedules" }));
  const navigate = useNavigate({ from: "/schedules" });
  const filter = filterOf(search);
  const pages = useInfiniteQuery(schedulesQuery(carillon, filter));
  const count = useQuery(scheduleCountQuery(carillon, filter));
  const schedules = pages.data?.pages.flatMap(({ items }) => items) ?? [];
  const strips = useQueries({
    queries: (pages.data?.pages ?? []).map(({ items }) =>
      lastRunsQuery(
        carillon,
        items.map(({ key }) => key),
      ),
    ),
    combine: (answers) => new Map(answers.flatMap(({ data }) => [...(data ?? [])])),
  });
  const change = (changed: Partial<ScheduleSearch>) =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true });
  return (
    <>
      <header className="title">
        <h1>Schedules</h1>
        <p className="quiet">{count.data === undefined ? "…" : countText(count.data)} match</p>
        <Freshness at={pages.dataUpdatedAt} refresh={() => void pages.refetch()} />
      </header>
      <ScheduleFilters search={search} onChange={change} />
      <AnswerState error={pages.error} isPending={pages.isPending} retry={() => void pages.refetch()} />
      {pages.data === undefined ? null : (
        <ScheduleTable
          schedules={schedules}
          strips={strips}
          isFiltered={Object.keys(filter).length > 0}
          hasMore={pages.hasNextPage}
          onEnd={() => {
            if (!pages.isFetchingNextPage) void pages.fetchNextPage();
          }}
        />
      )}
    </>
  );
}
