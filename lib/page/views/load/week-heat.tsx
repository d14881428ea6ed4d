import { useNavigate } from "@tanstack/react-router";
import { type FocusEvent, type KeyboardEvent, useState } from "react";
import { numberText, shortNumberText } from "../../data/amounts.ts";
import { heatLevel } from "../../data/load/heat.ts";
import type { WeekDay, WeekHour } from "../../data/load/week-map.ts";

export interface WeekCell extends WeekHour {
  day: WeekDay;
  /** Null before its answer arrives, and for an hour without time. */
  fires: number | null;
}

interface WeekHeatProps {
  rows: readonly { day: WeekDay; cells: readonly WeekCell[] }[];
  bounds: readonly number[];
  prefix: string | undefined;
  onChoose(cell: WeekCell): void;
}

/** A row for each day, a cell for each hour. On a phone the style sheet turns it. */
export function WeekHeat({ rows, bounds, prefix, onChoose }: WeekHeatProps) {
  const navigate = useNavigate();
  const [focus, setFocus] = useState({ day: 0, hour: rows[0]?.cells.find(isAhead)?.hour ?? 0 });
  const open = (cell: WeekCell) => {
    if (isAhead(cell)) void navigate({ to: "/agenda", search: { ...windowOf(cell), prefix } });
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTableElement>) => {
    const step = stepOf(event);
    if (step === undefined) return;
    const day = focus.day + step.day;
    const hour = focus.hour + step.hour;
    const next = event.currentTarget.tBodies[0]?.rows[day]?.cells[hour + 1];
    if (next === undefined || hour < 0) return;
    event.preventDefault();
    setFocus({ day, hour });
    next.focus();
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a grid, since arrows walk its cells.
    <table className="week-heat" role="grid" aria-label="Runs of each hour" onKeyDown={onKeyDown}>
      <thead>
        <tr>
          <td />
          {rows[0]?.cells.map(({ hour }) => (
            <th key={hour} scope="col">
              {String(hour).padStart(2, "0")}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ day, cells }, row) => (
          <tr key={day.date}>
            <th scope="row">{day.label}</th>
            {cells.map((cell) => (
              <td
                key={cell.hour}
                // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: Enter opens it.
                role="gridcell"
                className={lookOf(cell, bounds)}
                tabIndex={focus.day === row && focus.hour === cell.hour ? 0 : -1}
                title={cellText(cell)}
                onPointerEnter={() => onChoose(cell)}
                onFocus={({ target }: FocusEvent) => {
                  target.scrollIntoView({ block: "nearest" });
                  setFocus({ day: row, hour: cell.hour });
                  onChoose(cell);
                }}
                onClick={() => open(cell)}
                onKeyDown={({ key }) => {
                  if (key === "Enter") open(cell);
                }}
              >
                {cell.isTwice || cell.state === "missing" ? <span aria-hidden="true">△</span> : null}
                {cell.fires === null ? (
                  <span className="hidden">{absences[cell.state]}</span>
                ) : (
                  shortNumberText(cell.fires)
                )}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const isAhead = ({ state }: WeekHour) => state === "ahead";

const absences = {
  ahead: "not counted yet",
  passed: "passed",
  missing: "does not exist: the clocks go forward",
};

export const windowOf = ({ from, to }: WeekHour) => ({
  from: new Date(from).toISOString(),
  to: new Date(to).toISOString(),
});

/** `Sun, 29 Mar, 03:00: 1,204 runs`. */
export function cellText({ day, hour, state, fires, isTwice }: WeekCell): string {
  const name = `${day.label}, ${String(hour).padStart(2, "0")}:00`;
  if (fires === null) return `${name}: ${absences[state]}`;
  const both = isTwice ? ", the sum of both: the clocks go back and the hour occurs twice" : "";
  return `${name}: ${numberText(fires)} ${fires === 1 ? "run" : "runs"}${both}`;
}

function lookOf({ state, fires }: WeekCell, bounds: readonly number[]): string {
  return state === "ahead" ? `heat-${heatLevel(fires ?? 0, bounds)}` : state;
}

/** Where the table is turned, its days lie side by side. */
function stepOf({ key, currentTarget }: KeyboardEvent<HTMLTableElement>) {
  const isTurned = getComputedStyle(currentTarget).gridAutoFlow === "column";
  const [day, hour] = [
    { day: 1, hour: 0 },
    { day: 0, hour: 1 },
  ];
  const [down, right] = isTurned ? [hour, day] : [day, hour];
  const steps: Record<string, { day: number; hour: number }> = {
    ArrowDown: down,
    ArrowRight: right,
    ArrowUp: { day: -down.day, hour: -down.hour },
    ArrowLeft: { day: -right.day, hour: -right.hour },
  };
  return steps[key];
}
