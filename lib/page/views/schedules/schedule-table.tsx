import { Link } from "@tanstack/react-router";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import type { LastRun } from "../../../client/agenda.ts";
import type { ScheduleSummary } from "../../../client/schedule.ts";
import { stripLength } from "../../data/schedule-queries.ts";
import { Instant } from "../../parts/instant.tsx";
import { RunsStrip } from "../../parts/strip.tsx";

interface ScheduleTableProps {
  schedules: readonly ScheduleSummary[];
  strips: ReadonlyMap<string, readonly LastRun[]>;
  hasMore: boolean;
  /** Called when the reader comes near the last row that is loaded. */
  onEnd(): void;
}

const rowHeight = 44;
/** So many rows before the end the next page is asked for. */
const ahead = 40;

export function ScheduleTable({ schedules, strips, hasMore, onEnd }: ScheduleTableProps) {
  const top = useRef<HTMLDivElement>(null);
  const virtualizer = useWindowVirtualizer({
    count: schedules.length,
    estimateSize: () => rowHeight,
    overscan: 12,
    scrollMargin: top.current?.offsetTop ?? 0,
    getItemKey: (index) => schedules[index]?.id ?? index,
  });
  const rows = virtualizer.getVirtualItems();
  const last = rows.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && last >= schedules.length - ahead) onEnd();
  }, [hasMore, last, schedules.length, onEnd]);
  return (
    <div
      className="table schedules"
      role="table"
      aria-label="Schedules"
      aria-rowcount={hasMore ? -1 : schedules.length + 1}
    >
      <div className="head" role="row">
        {["Key", "When", "Next run", "Last runs", "State"].map((name) => (
          <span key={name} role="columnheader">
            {name}
          </span>
        ))}
      </div>
      <div ref={top} className="rows" style={{ height: virtualizer.getTotalSize() }}>
        {rows.map(({ index, start, key }) => {
          const schedule = schedules[index];
          return schedule === undefined ? null : (
            <div
              key={key}
              role="row"
              aria-rowindex={index + 2}
              className="row"
              style={{ transform: `translateY(${start - virtualizer.options.scrollMargin}px)` }}
            >
              <ScheduleCells schedule={schedule} runs={strips.get(schedule.key)} />
            </div>
          );
        })}
      </div>
      {schedules.length === 0 ? <p className="rows-none">No schedule matches.</p> : null}
    </div>
  );
}

function ScheduleCells({
  schedule,
  runs,
}: {
  schedule: ScheduleSummary;
  runs: readonly LastRun[] | undefined;
}) {
  const { key, cadenceText, cadence, nextAt, holds, state } = schedule;
  return (
    <>
      <span role="cell" className="key">
        <Link to="/schedules/$key" params={{ key }} className="mono">
          {key}
        </Link>
      </span>
      <span role="cell" className="when" title={cadence}>
        {cadenceText}
      </span>
      <span role="cell" className="next">
        {nextAt === null ? <span className="faint">–</span> : <Instant at={nextAt} of={key} />}
      </span>
      <span role="cell" className="runs">
        {runs === undefined ? null : <RunsStrip runs={runs} room={stripLength} />}
      </span>
      <span
        role="cell"
        className="state"
        title={holds.map(({ owner, reason }) => `${owner}: ${reason ?? ""}`).join("\n")}
      >
        {state === "paused" ? `‖ held by ${holds[0]?.owner ?? "a hold"}` : state}
      </span>
    </>
  );
}
