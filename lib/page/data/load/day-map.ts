import type { Forecast } from "../../../client/forecast.ts";
import { dayText, minuteText } from "../time/zone.ts";
import { type HeatColour, heatColours } from "./heat.ts";

export interface DayCell {
  at: number;
  fires: number;
  /** More than the workers have settled in any minute of the last day. */
  isBeyond: boolean;
  row: number;
  /** The minute of the hour. */
  column: number;
}

export interface DayRow {
  /** Its first minute. */
  at: number;
  label: string;
  /** The effect of a clock change. */
  note: string | null;
  total: number;
  first: number;
  last: number;
}

export interface DayMap {
  rows: DayRow[];
  cells: DayCell[];
  colours: HeatColour[];
  busiest: DayCell[];
}

const busiestShown = 5;

/**
 * The minutes of a forecast by the hours of a zone's clock, with a spread as it would move them. The
 * colours are those of both, so that a spread makes a map lighter.
 */
export function dayMapOf({ minutes, spread }: Pick<Forecast, "minutes" | "spread">, zone: string): DayMap {
  const rows: DayRow[] = [];
  const cells: DayCell[] = [];
  for (const [place, { at: text, fires: planned, beyond }] of minutes.entries()) {
    const at = Date.parse(text);
    const fires = spread?.minutes[place]?.fires ?? planned;
    const column = Number(minuteText(at, zone).slice(3));
    let row = rows.at(-1);
    if (row === undefined || column <= row.last) {
      row = { ...namesOf(at, row?.at, zone), at, total: 0, first: column, last: column };
      rows.push(row);
    }
    row.total += fires;
    row.last = column;
    cells.push({ at, fires, isBeyond: spread === null && beyond, row: rows.length - 1, column });
  }
  return {
    rows,
    cells,
    colours: heatColours([...minutes, ...cells].map(({ fires }) => fires)),
    busiest: cells
      .filter(({ fires }) => fires > 0)
      .toSorted((one, other) => other.fires - one.fires || one.at - other.at)
      .slice(0, busiestShown),
  };
}

/** The name of an hour: with its day where the day begins, and with a note where the clocks change. */
function namesOf(at: number, before: number | undefined, zone: string): Pick<DayRow, "label" | "note"> {
  const hour = minuteText(at, zone).slice(0, 2);
  const label = before === undefined || hour === "00" ? `${dayText(at, zone).slice(0, 3)} ${hour}` : hour;
  if (before === undefined) return { label, note: null };
  const passed = (Number(hour) - Number(minuteText(before, zone).slice(0, 2)) + 24) % 24;
  if (passed === 1) return { label, note: null };
  const note =
    passed === 0
      ? `The clocks go back: the hour ${hour} occurs twice.`
      : `The clocks go forward: the hour before ${hour} does not exist.`;
  return { label, note };
}
