import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { type RefusedSource, refusedQuery } from "../../data/refused-queries.ts";
import { filterLabels } from "../../data/text/filter-words.ts";
import { useRefreshMs } from "../../hooks/live.tsx";
import { useSession } from "../../hooks/session-context.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { TextFilter } from "../../parts/filter-fields.tsx";
import { OlderButton } from "../../parts/older-button.tsx";
import { RefusedRow } from "./refused-row.tsx";
import type { RefusedSearch } from "./refused-search.ts";
import "../../look/tables.css";
import "../../look/more.css";

const refreshMs = 15_000;

const sources: readonly (readonly [RefusedSource, string])[] = [
  ["queue", "From the queue"],
  ["inbox", "From SQL"],
];

/** Commands that came through the queue or the SQL inbox and were not applied. */
export function Refused() {
  const { carillon } = useSession();
  const search = useSearch({ from: "/refused" });
  const navigate = useNavigate({ from: "/refused" });
  const { of = "queue", prefix, id } = search;
  const pages = useInfiniteQuery({
    ...refusedQuery(carillon, { of, prefix }),
    refetchInterval: useRefreshMs(refreshMs),
  });
  const commands = pages.data?.pages.flatMap(({ items }) => items) ?? [];
  const change = (changed: Partial<RefusedSearch>) =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true });
  return (
    <>
      <header className="title">
        <h1>Refused commands</h1>
        <p className="quiet">sent by your applications, and not applied</p>
      </header>
      <nav className="tabs" aria-label="Where they came from">
        {sources.map(([source, name]) => (
          <Link
            key={source}
            to="/refused"
            search={(before) =>
              source === of
                ? before
                : { ...before, of: source === "queue" ? undefined : source, id: undefined }
            }
            // Else a link without `of` would be current with any, too.
            activeOptions={{ exact: true }}
          >
            {name}
          </Link>
        ))}
      </nav>
      <search className="filters">
        <TextFilter
          label={filterLabels.prefix}
          value={prefix}
          onChange={(text) => change({ prefix: text })}
        />
      </search>
      <AnswerState error={pages.error} isPending={pages.isPending} retry={() => void pages.refetch()} />
      {pages.data === undefined ? null : (
        <div className="list">
          <ol className="refused">
            {commands.map((command) => (
              <RefusedRow
                key={command.id}
                of={of}
                command={command}
                isOpen={command.id === id}
                onToggle={(isOpen) => {
                  if (isOpen !== (command.id === id)) change({ id: isOpen ? command.id : undefined });
                }}
              />
            ))}
          </ol>
          {commands.length === 0 && !pages.hasNextPage ? (
            <p className="rows-none">No command was refused.</p>
          ) : null}
          <OlderButton pages={pages} text="Show older ones" />
        </div>
      )}
    </>
  );
}
