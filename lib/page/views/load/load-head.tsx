import { Link, useNavigate } from "@tanstack/react-router";
import type { Seen } from "../../hooks/use-is-old.ts";
import { ChoiceFilter, TextFilter } from "../../parts/filter-fields.tsx";
import { Freshness } from "../../parts/freshness.tsx";
import { byWords, type LoadSearch } from "./load-search.ts";

const views = [
  { view: undefined, name: "Curve" },
  { view: "day", name: "Next day" },
  { view: "week", name: "Coming week" },
] as const;

/** It is refreshed by its button only, whose answer may take seconds. */
const freshMs = 5_000;

interface LoadHeadProps {
  search: LoadSearch;
  /** The answer on the screen. */
  seen: Seen;
  refresh(): void;
}

/** The title with the choice of the view and of the schedules. */
export function LoadHead({ search, seen, refresh }: LoadHeadProps) {
  const navigate = useNavigate({ from: "/load" });
  const change = (changed: Partial<LoadSearch>) =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true });
  return (
    <>
      <header className="title">
        <h1>Load</h1>
        <Freshness of={seen} everyMs={freshMs} refresh={refresh} />
      </header>
      <search className="filters">
        <nav className="segments" aria-label="View of the load">
          {views.map(({ view, name }) => (
            <Link
              key={name}
              to="/load"
              search={(before) => ({ ...before, view })}
              activeOptions={{ exact: true }}
              className="segment"
            >
              {name}
            </Link>
          ))}
        </nav>
        {search.view === undefined ? (
          <ChoiceFilter
            label="Ahead"
            none="1 day"
            choices={[
              ["60", "1 hour"],
              ["240", "4 hours"],
            ]}
            value={search.minutes}
            onChange={(minutes) => change({ minutes })}
          />
        ) : null}
        {search.view === "week" ? null : (
          <ChoiceFilter
            label="By"
            none="prefix"
            choices={byWords}
            value={search.by}
            onChange={(by) => change({ by })}
          />
        )}
        <TextFilter label="Key begins with" value={search.prefix} onChange={(prefix) => change({ prefix })} />
      </search>
    </>
  );
}
