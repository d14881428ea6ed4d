import { memo } from "react";
import type { DayCell, DayMap } from "../../data/load/day-map.ts";
import { heatLevel } from "../../data/load/heat.ts";

interface DayCellsProps {
  map: DayMap;
  /** The hint of a cell. */
  text(cell: DayCell): string;
}

/** The outline of a busy cell lies within it. */
const inset = 0.08;

/** All cells of a map, which stay as they are while another one of them is chosen. */
export const DayCells = memo(
  ({ map: { rows, cells, colours, busiest }, text }: DayCellsProps) => (
    <g>
      {rows.map(({ at, first, last }, row) => (
        <rect key={at} className="heat-0" x={first} y={row} width={last - first + 1} height={1} />
      ))}
      {cells.map((cell) =>
        cell.fires === 0 ? null : (
          <rect
            key={cell.at}
            className={`heat-${heatLevel(cell.fires, colours)}`}
            x={cell.column}
            y={cell.row}
            width={1}
            height={1}
          >
            <title>{text(cell)}</title>
          </rect>
        ),
      )}
      {busiest.map(({ at, row, column }) => (
        <rect
          key={at}
          className="heat-peak"
          x={column + inset}
          y={row + inset}
          width={1 - 2 * inset}
          height={1 - 2 * inset}
        />
      ))}
    </g>
  ),
  (before, after) => before.map === after.map,
);
