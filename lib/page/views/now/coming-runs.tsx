import { Link } from "@tanstack/react-router";
import type { NextRuns } from "../../data/now-queries.ts";
import { lookOf } from "../../data/outcomes.ts";
import { Pending } from "../../parts/answer-state.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Instant } from "../../parts/time/instant.tsx";

export function ComingRuns({ runs }: { runs: NextRuns | undefined }) {
  return (
    <Panel title="What comes next">
      {runs === undefined ? <Pending /> : null}
      {runs?.items.length === 0 && !runs.isCut ? (
        <p className="rows-none">Nothing is due within an hour.</p>
      ) : null}
      <ul className="coming">
        {runs?.items.map((item) => (
          <li key={`${item.scheduleId} ${item.occurrence} ${item.kind}`} data-row>
            <Instant at={item.dueAt ?? item.occurrence} of={item.key} />
            <Link
              to="/schedules/$key"
              params={{ key: item.key }}
              search={{ why: item.occurrence }}
              className="mono"
            >
              {item.key}
            </Link>
            <span className="quiet">{lookOf(item.outcome).word}</span>
          </li>
        ))}
      </ul>
      {runs?.isCut === true ? (
        <p className="rows-none">
          {runs.items.length === 0 ? "No run was found so far" : "More runs may come"}: the search ended
          before the end of the hour.{" "}
          <Link to="/agenda" search={{ from: runs.from, to: runs.to }} className="link">
            Search on in the agenda
          </Link>
        </p>
      ) : null}
    </Panel>
  );
}
