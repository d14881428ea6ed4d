import type { MouseEvent } from "react";
import { numberText } from "../../data/amounts.ts";
import type { DayCell, DayMap } from "../../data/load/day-map.ts";
import { minuteText } from "../../data/time/zone.ts";
import { useZone } from "../../hooks/use-zone.ts";
import { DayCells } from "./day-cells.tsx";

/** Minutes of an hour. */
export const columns = 60;
const rowHeight = 18;
const ticks = [0, 10, 20, 30, 40, 50];

interface DayGridProps {
  map: DayMap;
  /** Says in a sentence what the map shows. */
  label: string;
  /** The hint of a cell. */
  text(cell: DayCell): string;
  chosen: DayCell | undefined;
  onChoose(cell: DayCell | undefined): void;
  onOpen(cell: DayCell | undefined): void;
}

/** The map with its hours and their sums. */
export function DayGrid({ map, label, text, chosen, onChoose, onOpen }: DayGridProps) {
  const zone = useZone();
  const { rows, cells } = map;
  const cellUnder = ({ clientX, clientY, currentTarget }: MouseEvent<SVGSVGElement>) => {
    const { left, top, width, height } = currentTarget.getBoundingClientRect();
    const column = Math.floor(((clientX - left) / width) * columns);
    const row = Math.floor(((clientY - top) / height) * rows.length);
    return cells.find((each) => each.row === row && each.column === column);
  };
  return (
    <div className="day-heat">
      <ol className="heat-ticks" aria-hidden="true">
        {ticks.map((minute) => (
          <li key={minute} style={{ left: `${(minute / columns) * 100}%` }}>
            :{String(minute).padStart(2, "0")}
          </li>
        ))}
      </ol>
      <ol className="heat-hours" aria-hidden="true">
        {rows.map(({ at, label: hour, note }) => (
          <li key={at}>
            {note === null ? null : "△ "}
            {hour}
          </li>
        ))}
      </ol>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the slider beside it has the keys. */}
      <svg
        viewBox={`0 0 ${columns} ${rows.length}`}
        preserveAspectRatio="none"
        style={{ height: rows.length * rowHeight }}
        role="img"
        aria-label={label}
        onPointerMove={(event) => onChoose(cellUnder(event))}
        onClick={(event) => onOpen(cellUnder(event))}
      >
        <DayCells map={map} text={text} />
        {chosen === undefined ? null : (
          <rect className="heat-chosen" x={chosen.column} y={chosen.row} width={1} height={1} />
        )}
      </svg>
      <ol className="heat-sums" aria-label="Runs of each hour">
        {rows.map(({ at, total }) => (
          <li key={at}>
            <span className="hidden">{minuteText(at, zone)}: </span>
            {numberText(total)}
          </li>
        ))}
      </ol>
    </div>
  );
}
