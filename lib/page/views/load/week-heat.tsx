import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useState } from "react";
import type { HeatColour } from "../../data/load/heat.ts";
import type { WeekCell, WeekRow } from "./use-week.ts";
import { HourCell, isAhead, windowOf } from "./week-hour.tsx";

interface WeekHeatProps {
  rows: readonly WeekRow[];
  colours: readonly HeatColour[];
  prefix: string | undefined;
  onChoose(cell: WeekCell): void;
}

/** A row for each day, a cell for each hour. On a phone the style sheet turns it. */
export function WeekHeat({ rows, colours, prefix, onChoose }: WeekHeatProps) {
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
              <HourCell
                key={cell.hour}
                cell={cell}
                colours={colours}
                isStop={focus.day === row && focus.hour === cell.hour}
                onChoose={() => onChoose(cell)}
                onFocus={() => setFocus({ day: row, hour: cell.hour })}
                onOpen={() => open(cell)}
              />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
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
