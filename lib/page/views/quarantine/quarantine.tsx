import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { moreOf } from "../../data/more.ts";
import { quarantineQuery } from "../../data/quarantine-queries.ts";
import { useListRefresh } from "../../hooks/list-refresh.ts";
import { useSession } from "../../hooks/session-context.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { TextFilter } from "../../parts/filter-fields.tsx";
import { ListFreshness } from "../../parts/list-freshness.tsx";
import { EntryTable } from "./entry-table.tsx";
import { RetryEntries } from "./retry-entries.tsx";
import "../../look/tables.css";
import "../../look/incidents.css";

/** Rows that a part of Carillon failed on, set aside so that other rows do not wait for them. */
export function Quarantine() {
  const { carillon } = useSession();
  const { prefix } = useSearch({ from: "/quarantine" });
  const navigate = useNavigate({ from: "/quarantine" });
  const pages = useInfiniteQuery({
    ...quarantineQuery(carillon, prefix),
    refetchInterval: useListRefresh(),
  });
  return (
    <>
      <header className="title">
        <h1>Quarantine</h1>
        <p className="quiet">rows that Carillon failed on, and retries by itself</p>
        <ListFreshness pages={pages} />
        <span className="actions">
          <RetryEntries prefix={prefix} />
        </span>
      </header>
      <search className="filters">
        <TextFilter
          label="Key begins with"
          value={prefix}
          onChange={(text) =>
            void navigate({ search: (before) => ({ ...before, prefix: text }), replace: true })
          }
        />
      </search>
      <AnswerState error={pages.error} isPending={pages.isPending} retry={() => void pages.refetch()} />
      {pages.data === undefined ? null : (
        <EntryTable entries={pages.data.pages.flatMap(({ items }) => items)} {...moreOf(pages)} />
      )}
    </>
  );
}
