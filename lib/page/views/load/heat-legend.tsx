import type { ReactNode } from "react";
import { numberText } from "../../data/amounts.ts";
import { heatLevel } from "../../data/load/heat.ts";

interface HeatLegendProps {
  bounds: readonly number[];
  /** The unit of the numbers, such as `runs a minute`. */
  unit: string;
  /** Other marks of the map. */
  children?: ReactNode;
}

/** The numbers of each colour. */
export function HeatLegend({ bounds, unit, children }: HeatLegendProps) {
  return (
    <p className="legend heat-legend">
      <span>
        <i className="heat-0" aria-hidden="true" />0
      </span>
      {bounds.map((bound, place) => (
        <span key={bound}>
          <i className={`heat-${heatLevel(bound, bounds)}`} aria-hidden="true" />
          {rangeText((bounds[place - 1] ?? 0) + 1, bound)}
        </span>
      ))}
      <span>{unit}</span>
      {children}
    </p>
  );
}

const rangeText = (from: number, to: number) =>
  from === to ? numberText(to) : `${numberText(from)}–${numberText(to)}`;
