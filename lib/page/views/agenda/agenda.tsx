import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { type AgendaFilter, agendaOutcomes } from "../../../client/agenda.ts";
import { agendaCountsQuery, agendaQuery } from "../../data/agenda-queries.ts";
import { moreOf } from "../../data/more.ts";
import { useListRefresh } from "../../hooks/list-refresh.ts";
import { useSession } from "../../hooks/session-context.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { FilterChips } from "../../parts/filter-chips.tsx";
import { ChoiceFilter, TextFilter } from "../../parts/filter-fields.tsx";
import { ListFreshness } from "../../parts/list-freshness.tsx";
import { AgendaExport } from "./agenda-export.tsx";
import { AgendaHeadline } from "./agenda-headline.tsx";
import { type AgendaSearch, readAgendaSearch, windowOf } from "./agenda-search.ts";
import { AgendaTable } from "./agenda-table.tsx";
import { expressionText, isOnlyCounted } from "./counts-text.ts";
import { ExpressionTable } from "./expression-table.tsx";
import { HeldSchedules } from "./held-schedules.tsx";
import { outcomeWord } from "./outcome-words.ts";
import { QuickWindows } from "./quick-windows.tsx";
import { WindowFields } from "./window-fields.tsx";
import "../../look/tables.css";

const rowKinds = [
  { rows: undefined, name: "Each run" },
  { rows: "expressions", name: "By expression" },
] as const;

const outcomeChoices = agendaOutcomes.map((outcome) => [outcome, outcomeWord(outcome)] as const);

/** The occurrences between two instants, past and coming. */
export function Agenda() {
  const { carillon } = useSession();
  const search = readAgendaSearch(useSearch({ from: "/agenda" }));
  const navigate = useNavigate({ from: "/agenda" });
  const [openedAt] = useState(Date.now);
  const asked = windowOf(search, openedAt);
  const { outcome, ...window } = asked;
  const isByExpression = search.rows === "expressions";
  // Expressions are counted before any outcome is known.
  const filter: AgendaFilter = isByExpression ? window : asked;
  const [isOutdated, setOutdated] = useState(false);
  const pages = useInfiniteQuery({
    ...agendaQuery(carillon, filter),
    refetchInterval: useListRefresh(),
    enabled: !isByExpression,
  });
  const counts = useQuery(agendaCountsQuery(carillon, window));
  const shown = isByExpression ? counts : pages;
  const items = pages.data?.pages.flatMap((page) => page.items) ?? [];
  const listed = isByExpression ? undefined : { items, hasMore: pages.hasNextPage };
  const change = (changed: Partial<AgendaSearch>) =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true });
  return (
    <>
      <header className="title">
        <h1>Agenda</h1>
        <AgendaHeadline
          window={window}
          outcome={filter.outcome}
          counts={shown.isPending ? undefined : counts.data}
          listed={listed}
          isOutdated={isOutdated}
        />
        {isByExpression ? null : <ListFreshness pages={pages} />}
        <span className="actions">
          <AgendaExport window={filter} />
        </span>
      </header>
      <search className="filters">
        <nav className="segments" aria-label="Rows of the agenda">
          {rowKinds.map(({ rows, name }) => (
            <Link
              key={name}
              to="/agenda"
              search={(before) => ({ ...before, rows })}
              activeOptions={{ exact: true }}
              className="segment"
            >
              {name}
            </Link>
          ))}
        </nav>
        <WindowFields window={window} onChange={change} onOutdated={setOutdated} />
        <QuickWindows />
        <TextFilter label="Key begins with" value={search.prefix} onChange={(prefix) => change({ prefix })} />
        <TextFilter label="Tag" value={search.tag} onChange={(tag) => change({ tag })} />
        <TextFilter label="Group" value={search.group} onChange={(group) => change({ group })} />
        <TextFilter label="Target" value={search.target} onChange={(target) => change({ target })} />
        <ChoiceFilter
          label="Outcome"
          choices={outcomeChoices}
          value={outcome}
          whyDisabled={isByExpression ? "Expressions are counted before any outcome is known." : undefined}
          onChange={(chosen) => change({ outcome: chosen })}
        />
      </search>
      <FilterChips
        chips={[
          {
            label: "Expression",
            text: search.rule === undefined ? undefined : expressionText(counts.data),
            drop: () => change({ rule: undefined }),
          },
        ]}
      />
      <AnswerState error={shown.error} isPending={shown.isPending} retry={() => void shown.refetch()} />
      <div className={isOutdated ? "outdated" : undefined}>
        {isByExpression && counts.data !== undefined ? (
          <ExpressionTable counts={counts.data} outcome={outcome} />
        ) : null}
        {filter.outcome === "held" ? <HeldSchedules window={window} /> : null}
        {!isByExpression && pages.data !== undefined ? (
          <AgendaTable
            items={items}
            isOfOutcome={outcome !== undefined}
            isCounted={counts.data !== undefined && isOnlyCounted(counts.data, listed)}
            {...moreOf(pages)}
          />
        ) : null}
      </div>
    </>
  );
}
