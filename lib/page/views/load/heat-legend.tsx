import type { ReactNode } from "react";
import { numberText } from "../../data/amounts.ts";
import type { HeatColour } from "../../data/load/heat.ts";

interface HeatLegendProps {
  colours: readonly HeatColour[];
  /** The unit of the numbers, such as `runs a minute`. */
  unit: string;
  /** Other marks of the map. */
  children?: ReactNode;
}

/** The numbers of each colour. */
export function HeatLegend({ colours, unit, children }: HeatLegendProps) {
  return (
    <p className="legend heat-legend">
      <span>
        <i className="heat-0" aria-hidden="true" />0
      </span>
      {colours.map(({ level, from, to }) => (
        <span key={to}>
          <i className={`heat-${level}`} aria-hidden="true" />
          {from === to ? numberText(to) : `${numberText(from)}–${numberText(to)}`}
          {from !== to && colours.length === 1 ? ", all about the same" : ""}
        </span>
      ))}
      <span>{unit}</span>
      {children}
    </p>
  );
}
