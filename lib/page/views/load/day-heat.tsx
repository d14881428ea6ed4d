import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useMemo, useState } from "react";
import type { Forecast } from "../../../client/forecast.ts";
import { numberText } from "../../data/amounts.ts";
import { type DayCell, dayMapOf } from "../../data/load/day-map.ts";
import { plannedText, runsText } from "../../data/load/planned-text.ts";
import { minuteText } from "../../data/time/zone.ts";
import { useZone } from "../../hooks/use-zone.ts";
import { Panel } from "../../parts/panel.tsx";
import { columns, DayGrid } from "./day-grid.tsx";
import { HeatLegend } from "./heat-legend.tsx";
import { minuteSearch, PlannedMinute } from "./planned-minute.tsx";

interface DayHeatProps {
  forecast: Forecast;
  /** The schedules that are looked at. */
  prefix: string | undefined;
}

/** The next day: a row for each hour of the clock, a cell for each minute. */
export function DayHeat({ forecast, prefix }: DayHeatProps) {
  const zone = useZone();
  const navigate = useNavigate();
  const [chosenAt, setChosenAt] = useState<number | null>(null);
  const map = useMemo(() => dayMapOf(forecast, zone), [forecast, zone]);
  const { rows, cells, colours, busiest } = map;
  const place = cells.findIndex(({ at }) => at === chosenAt);
  const chosen = cells[place];
  const choose = (cell: DayCell | undefined) => setChosenAt(cell?.at ?? null);
  const open = (cell: DayCell | undefined) => {
    if (cell !== undefined) void navigate({ to: "/agenda", search: minuteSearch(cell.at, prefix) });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowUp: -columns, ArrowDown: columns }[event.key];
    if (event.key === "Enter") open(chosen);
    else if (step !== undefined) choose(cells[Math.max(0, place) + step] ?? chosen);
    else return;
    event.preventDefault();
  };
  const amount = (cell: DayCell) => `${runsText(cell.fires, forecast.exact)}${beyondText(cell)}`;
  const text = (cell: DayCell) => `${minuteText(cell.at, zone)}: ${amount(cell)}`;
  const [first] = busiest;
  const most =
    first === undefined
      ? "none has a run"
      : `the busiest is ${minuteText(first.at, zone)} with ${amount(first)}`;
  return (
    <Panel
      title="The next day, minute by minute"
      note={`${runsText(forecast.total, forecast.exact)}; hours of ${zone}`}
    >
      <DayGrid
        map={map}
        label={`Planned runs of ${numberText(cells.length)} minutes: ${most}.`}
        text={text}
        chosen={chosen}
        onChoose={choose}
        onOpen={open}
      />
      <input
        type="range"
        className="minute-slider"
        aria-label="Minute of the map: left and right move by a minute, up and down by an hour, Enter opens its agenda"
        min={0}
        max={Math.max(0, cells.length - 1)}
        value={Math.max(0, place)}
        aria-valuetext={chosen === undefined ? "no minute is chosen" : text(chosen)}
        onChange={(event) => choose(cells[Number(event.target.value)])}
        onKeyDown={onKeyDown}
      />
      <p className="minute-note quiet">
        {chosen === undefined ? (
          `Of these minutes ${most}.`
        ) : (
          <>
            <PlannedMinute at={new Date(chosen.at).toISOString()} prefix={prefix} />:{" "}
            {plannedText(chosen.fires, { isExact: forecast.exact })}
            {beyondText(chosen)}
          </>
        )}
      </p>
      <HeatLegend colours={colours} unit="runs a minute">
        {busiest.length === 0 ? null : (
          <span>
            <i className="heat-peak" aria-hidden="true" />
            the busiest minutes
          </span>
        )}
        {rows.map(({ at, note }) => (note === null ? null : <span key={at}>△ {note}</span>))}
      </HeatLegend>
    </Panel>
  );
}

const beyondText = ({ isBeyond }: DayCell) =>
  isBeyond ? ", more than the workers have settled in any minute of the last day" : "";
