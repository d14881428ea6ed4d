import { useInfiniteQuery } from "@tanstack/react-query";
import { moreOf } from "../../data/more.ts";
import { outagesQuery } from "../../data/outage-queries.ts";
import { useListRefresh } from "../../hooks/list-refresh.ts";
import { useSession } from "../../hooks/session-context.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { ListFreshness } from "../../parts/list-freshness.tsx";
import { OutageTable } from "./outage-table.tsx";
import "../../look/tables.css";
import "../../look/incidents.css";

/** Times in which Carillon could not make or start jobs, each with the jobs that it made late. */
export function Outages() {
  const { carillon } = useSession();
  const pages = useInfiniteQuery({ ...outagesQuery(carillon), refetchInterval: useListRefresh() });
  return (
    <>
      <header className="title">
        <h1>Outages</h1>
        <p className="quiet">of Carillon itself: no job was made, or none was started</p>
        <ListFreshness pages={pages} />
      </header>
      <AnswerState error={pages.error} isPending={pages.isPending} retry={() => void pages.refetch()} />
      {pages.data === undefined ? null : (
        <OutageTable
          outages={pages.data.pages.flatMap(({ items }) => items)}
          seenAt={pages.dataUpdatedAt}
          {...moreOf(pages)}
        />
      )}
    </>
  );
}
