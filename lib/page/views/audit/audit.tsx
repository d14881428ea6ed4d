import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { auditQuery } from "../../data/audit-queries.ts";
import { filterLabels } from "../../data/text/filter-words.ts";
import { useSession } from "../../hooks/session-context.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { ChoiceFilter, TextFilter } from "../../parts/filter-fields.tsx";
import { OlderButton } from "../../parts/older-button.tsx";
import { OptionalInstant } from "../../parts/time/optional-instant.tsx";
import { AuditRow } from "./audit-entry.tsx";
import { AuditExport } from "./audit-export.tsx";
import { type AuditSearch, actionChoices, auditFilterOf } from "./audit-search.ts";
import "../../look/tables.css";
import "../../look/more.css";

/** Every recorded change, newest first. */
export function Audit() {
  const { carillon } = useSession();
  const search = useSearch({ from: "/audit" });
  const navigate = useNavigate({ from: "/audit" });
  const filter = auditFilterOf(search);
  const pages = useInfiniteQuery(auditQuery(carillon, filter));
  const entries = pages.data?.pages.flatMap(({ items }) => items) ?? [];
  const change = (changed: Partial<AuditSearch>) =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true });
  return (
    <>
      <header className="title">
        <h1>Audit</h1>
        <p className="quiet">every change, the newest first</p>
        <span className="actions">
          <AuditExport filter={filter} />
        </span>
      </header>
      <search className="filters narrow-fields">
        <TextFilter
          label={filterLabels.subject}
          value={search.subject}
          onChange={(subject) => change({ subject })}
        />
        <TextFilter
          label={filterLabels.prefix}
          value={search.prefix}
          onChange={(prefix) => change({ prefix })}
        />
        <TextFilter
          label={filterLabels.actor}
          placeholder="name of a token"
          value={search.actor}
          onChange={(actor) => change({ actor })}
        />
        <ChoiceFilter
          label={filterLabels.action}
          choices={actionChoices(search.action)}
          value={search.action}
          onChange={(action) => change({ action })}
        />
        <OptionalInstant
          label={filterLabels.from}
          value={search.from}
          onChange={(from) => change({ from })}
        />
        <OptionalInstant label={filterLabels.to} value={search.to} onChange={(to) => change({ to })} />
      </search>
      <AnswerState error={pages.error} isPending={pages.isPending} retry={() => void pages.refetch()} />
      {pages.data === undefined ? null : (
        <div className="list">
          <ol className="audit">
            {entries.map((entry) => (
              <AuditRow key={entry.id} entry={entry} />
            ))}
          </ol>
          {entries.length === 0 && !pages.hasNextPage ? (
            <p className="rows-none">No change matches.</p>
          ) : null}
          <OlderButton pages={pages} text="Show older changes" />
        </div>
      )}
    </>
  );
}
