import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { groupsQuery } from "../../data/group-queries.ts";
import { moreOf } from "../../data/more.ts";
import { useListRefresh } from "../../hooks/list-refresh.ts";
import { useSession } from "../../hooks/session-context.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { TextFilter } from "../../parts/filter-fields.tsx";
import { ListFreshness } from "../../parts/list-freshness.tsx";
import { GroupTable } from "./group-table.tsx";
import "../../look/tables.css";

/** The groups by name. Each row leads to the group: what runs in it, what waits, and what holds it. */
export function Groups() {
  const { carillon } = useSession();
  const { prefix } = useSearch({ from: "/groups" });
  const navigate = useNavigate({ from: "/groups" });
  const pages = useInfiniteQuery({
    ...groupsQuery(carillon, prefix),
    refetchInterval: useListRefresh(),
  });
  const groups = useMemo(() => pages.data?.pages.flatMap(({ items }) => items), [pages.data]);
  return (
    <>
      <header className="title">
        <h1>Groups</h1>
        <p className="quiet">schedules that are held, resumed and cancelled together</p>
        <ListFreshness pages={pages} />
      </header>
      <search className="filters">
        <TextFilter
          label="Name begins with"
          value={prefix}
          onChange={(text) =>
            void navigate({ search: (before) => ({ ...before, prefix: text }), replace: true })
          }
        />
      </search>
      <AnswerState error={pages.error} isPending={pages.isPending} retry={() => void pages.refetch()} />
      {groups === undefined ? null : <GroupTable groups={groups} prefix={prefix} {...moreOf(pages)} />}
    </>
  );
}
