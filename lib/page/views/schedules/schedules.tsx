import { useInfiniteQuery, useQueries, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { ScheduleFilter } from "../../../client/schedule.ts";
import { amountText, countText } from "../../data/amounts.ts";
import { moreOf } from "../../data/more.ts";
import { statsQuery } from "../../data/now-queries.ts";
import { lastRunsQuery, scheduleCountQuery, schedulesQuery } from "../../data/schedule-queries.ts";
import { useMay } from "../../data/token-query.ts";
import { useListRefresh } from "../../hooks/list-refresh.ts";
import { useSession } from "../../hooks/session-context.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { ListFreshness } from "../../parts/list-freshness.tsx";
import { NewScheduleLink } from "../../parts/new-schedule-link.tsx";
import { BulkBar } from "./bulk-bar.tsx";
import { ScheduleExport } from "./schedule-export.tsx";
import { ScheduleFilters } from "./schedule-filters.tsx";
import { filterOf, readScheduleSearch, type ScheduleSearch } from "./schedule-search.ts";
import { ScheduleTable } from "./schedule-table.tsx";
import { useKeySelection } from "./selection.ts";
import "../../look/tables.css";
import "../../look/bulk.css";

/** All schedules of a filter, with the strip of their last runs. */
export function Schedules() {
  const { carillon } = useSession();
  const search = readScheduleSearch(useSearch({ from: "/schedules" }));
  const navigate = useNavigate({ from: "/schedules" });
  const filter = filterOf(search);
  const refresh = useListRefresh();
  const pages = useInfiniteQuery({ ...schedulesQuery(carillon, filter), refetchInterval: refresh });
  const isFiltered = Object.keys(filter).length > 0;
  const schedules = pages.data?.pages.flatMap(({ items }) => items) ?? [];
  const strips = useQueries({
    queries: (pages.data?.pages ?? []).map(({ items }) => ({
      ...lastRunsQuery(
        carillon,
        items.map(({ key }) => key),
      ),
      refetchInterval: refresh({ state: pages }),
    })),
    combine: (answers) => new Map(answers.flatMap(({ data }) => [...(data ?? [])])),
  });
  const mayChange = useMay("pauseManySchedules");
  const selection = useKeySelection(schedules.map(({ key }) => key));
  const change = (changed: Partial<ScheduleSearch>) =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true });
  return (
    <>
      <header className="title">
        <h1>Schedules</h1>
        <p className="quiet">
          <Count filter={filter} isFiltered={isFiltered} />
        </p>
        <ListFreshness pages={pages} />
        {search.group === undefined ? null : (
          <Link to="/groups/$group" params={{ group: search.group }} className="link">
            Show the group
          </Link>
        )}
        <span className="actions">
          <ScheduleExport filter={filter} />
          <NewScheduleLink />
        </span>
      </header>
      <ScheduleFilters search={search} onChange={change} />
      {mayChange && schedules.length > 0 ? <BulkBar filter={filter} selection={selection} /> : null}
      <AnswerState error={pages.error} isPending={pages.isPending} retry={() => void pages.refetch()} />
      {pages.data === undefined ? null : (
        <ScheduleTable
          schedules={schedules}
          strips={strips}
          selection={mayChange ? selection : null}
          isFiltered={isFiltered}
          {...moreOf(pages)}
        />
      )}
    </>
  );
}

/** Counting the schedules of a filter ends at a limit; the statistics have the number of all. */
function Count({ filter, isFiltered }: { filter: ScheduleFilter; isFiltered: boolean }) {
  const { carillon } = useSession();
  const mayAll = useMay("listStats");
  const ofAll = useQuery({ ...statsQuery(carillon), enabled: !isFiltered && mayAll });
  const counted = useQuery({
    ...scheduleCountQuery(carillon, filter),
    enabled: isFiltered || !mayAll || ofAll.isError,
  });
  const all = ofAll.data?.schedules;
  if (!isFiltered && all !== undefined) return amountText({ count: all.total, more: all.more }, "schedule");
  return counted.data === undefined ? "…" : `${countText(counted.data)} match`;
}
