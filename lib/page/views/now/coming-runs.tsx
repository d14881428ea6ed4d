import { Link } from "@tanstack/react-router";
import type { AgendaItem } from "../../../client/agenda.ts";
import type { Page } from "../../../client/request/pages.ts";
import { lookOf } from "../../data/outcomes.ts";
import { Pending } from "../../parts/answer-state.tsx";
import { Instant } from "../../parts/instant.tsx";
import { Panel } from "../../parts/panel.tsx";

export function ComingRuns({ page }: { page: Page<AgendaItem> | undefined }) {
  return (
    <Panel title="What comes next">
      {page === undefined ? <Pending /> : null}
      {page?.items.length === 0 ? <p className="rows-none">Nothing is due within an hour.</p> : null}
      <ul className="coming">
        {page?.items.map((item) => (
          <li key={`${item.scheduleId} ${item.occurrence} ${item.kind}`} data-row>
            <Instant at={item.dueAt ?? item.occurrence} of={item.key} />
            <Link to="/schedules/$key" params={{ key: item.key }} className="mono">
              {item.key}
            </Link>
            <span className="quiet">{lookOf(item.outcome).word}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
