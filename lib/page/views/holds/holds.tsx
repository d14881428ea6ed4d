import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { holdsQuery } from "../../data/hold-queries.ts";
import { moreOf } from "../../data/more.ts";
import { filterLabels } from "../../data/text/filter-words.ts";
import { useListRefresh } from "../../hooks/list-refresh.ts";
import { useSession } from "../../hooks/session-context.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { CheckFilter, TextFilter } from "../../parts/filter-fields.tsx";
import { ListFreshness } from "../../parts/list-freshness.tsx";
import { filterOf, type HoldSearch, readHoldSearch } from "./hold-search.ts";
import { HoldTable } from "./hold-table.tsx";
import "../../look/tables.css";

/** The board of holds: owner, reason, members, and how long they last still. */
export function Holds() {
  const { carillon } = useSession();
  const search = readHoldSearch(useSearch({ from: "/holds" }));
  const navigate = useNavigate({ from: "/holds" });
  const pages = useInfiniteQuery({
    ...holdsQuery(carillon, filterOf(search)),
    refetchInterval: useListRefresh(),
  });
  const holds = useMemo(() => pages.data?.pages.flatMap(({ items }) => items), [pages.data]);
  const change = (changed: Partial<HoldSearch>) =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true });
  return (
    <>
      <header className="title">
        <h1>Holds</h1>
        <p className="quiet">
          A schedule is held in its own view, and many at once in{" "}
          <Link to="/schedules" className="link">
            Schedules
          </Link>
          . Holds with the same owner, reason and end that were set within a minute are one row.
        </p>
        <ListFreshness pages={pages} />
      </header>
      <search className="filters">
        <TextFilter label={filterLabels.owner} value={search.owner} onChange={(owner) => change({ owner })} />
        <TextFilter
          label={filterLabels.prefix}
          value={search.prefix}
          onChange={(prefix) => change({ prefix })}
        />
        <CheckFilter
          label="ended ones"
          checked={search.ended === "true"}
          onChange={(checked) => change({ ended: checked ? "true" : undefined })}
        />
      </search>
      <AnswerState error={pages.error} isPending={pages.isPending} retry={() => void pages.refetch()} />
      {holds === undefined ? null : (
        <HoldTable holds={holds} empty={<NoHold {...search} />} {...moreOf(pages)} />
      )}
    </>
  );
}

function NoHold({ owner, prefix, ended }: HoldSearch) {
  if (owner === undefined && prefix === undefined)
    return ended === undefined ? "Nothing is held." : "No hold has ended in the last days.";
  return (
    <>
      No {ended === undefined ? "hold" : "ended hold"} matches.{" "}
      <Link to="/holds" search={{ ended }} className="link">
        Show all {ended === undefined ? "holds" : "ended holds"}
      </Link>
    </>
  );
}
