import { shortNumberText } from "../../data/amounts.ts";
import { type HeatColour, heatLevel } from "../../data/load/heat.ts";
import { runsText } from "../../data/load/planned-text.ts";
import type { WeekHour } from "../../data/load/week-map.ts";
import type { WeekCell } from "./use-week.ts";

interface HourCellProps {
  cell: WeekCell;
  colours: readonly HeatColour[];
  /** Whether Tab stops here. */
  isStop: boolean;
  onChoose(): void;
  onFocus(): void;
  onOpen(): void;
}

/** One hour of the week. */
export function HourCell({ cell, colours, isStop, onChoose, onFocus, onOpen }: HourCellProps) {
  return (
    <td
      // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: Enter opens it.
      role="gridcell"
      className={lookOf(cell, colours)}
      tabIndex={isStop ? 0 : -1}
      title={cellText(cell)}
      onPointerEnter={onChoose}
      onFocus={({ target }) => {
        target.scrollIntoView({ block: "nearest" });
        onFocus();
        onChoose();
      }}
      onClick={onOpen}
      onKeyDown={({ key }) => {
        if (key === "Enter") onOpen();
      }}
    >
      {cell.isTwice || cell.state === "missing" ? <span aria-hidden="true">△</span> : null}
      {cell.fires === null ? (
        <span className="hidden">{absences[cell.state]}</span>
      ) : (
        shortNumberText(cell.fires)
      )}
      {cell.isBegun ? <span className="hidden">, the rest of this hour</span> : null}
    </td>
  );
}

export const isAhead = ({ state }: WeekHour) => state === "ahead";

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
export function cellText({ day, hour, state, fires, isTwice, isBegun, isExact }: WeekCell): string {
  const name = `${day.label}, ${String(hour).padStart(2, "0")}:00`;
  if (fires === null) return `${name}: ${absences[state]}`;
  const both = isTwice ? ", the sum of both: the clocks go back and the hour occurs twice" : "";
  const rest = isBegun ? " in the rest of this hour" : "";
  return `${name}: ${runsText(fires, isExact)}${rest}${both}`;
}

/** A begun hour has no colour: its number is not comparable with those of whole hours. */
function lookOf({ state, fires, isBegun }: WeekCell, colours: readonly HeatColour[]): string {
  if (isBegun) return "begun";
  return state === "ahead" ? `heat-${heatLevel(fires ?? 0, colours)}` : state;
}
