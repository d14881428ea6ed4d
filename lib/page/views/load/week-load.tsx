import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { heatColours } from "../../data/load/heat.ts";
import { runsText } from "../../data/load/planned-text.ts";
import { useZone } from "../../hooks/use-zone.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Estimated } from "./estimated.tsx";
import { HeatLegend } from "./heat-legend.tsx";
import { LoadHead } from "./load-head.tsx";
import type { LoadSearch } from "./load-search.ts";
import { useWeek, type WeekCell } from "./use-week.ts";
import { WeekHeat } from "./week-heat.tsx";
import { cellText, windowOf } from "./week-hour.tsx";

const hourMs = 3_600_000;

/** The coming week, hour by weekday. Each day is shown when its answer arrives. */
export function WeekLoad({ search }: { search: LoadSearch }) {
  const zone = useZone();
  const { rows, answers } = useWeek(search.prefix);
  const [chosen, setChosen] = useState<WeekCell | null>(null);
  const arrived = answers.filter(({ data }) => data !== undefined).length;
  const failed = answers.filter(({ error }) => error !== null);
  const cells = rows.flatMap((row) => row.cells);
  const busiest = cells.reduce<WeekCell | null>(
    (most, cell) => ((cell.fires ?? 0) > (most?.fires ?? 0) ? cell : most),
    null,
  );
  // The hour that has begun, and one that occurs twice, are not comparable with the others.
  const whole = cells.filter(({ from, to }) => to - from === hourMs);
  const colours = heatColours(whole.flatMap(({ fires }) => fires ?? []));
  const estimates = answers.filter(({ data }) => data?.exact === false).length;
  const total = cells.reduce((sum, { fires }) => sum + (fires ?? 0), 0);
  const shown = cells.find((cell) => cell.from === chosen?.from && cell.hour === chosen.hour) ?? busiest;
  return (
    <>
      <LoadHead
        search={search}
        seen={{
          dataUpdatedAt: Math.max(...answers.map(({ dataUpdatedAt }) => dataUpdatedAt)),
          isFetching: answers.some(({ isFetching }) => isFetching),
          failureReason: failed[0]?.error ?? null,
        }}
        refresh={() => answers.forEach((answer) => void answer.refetch())}
      />
      <AnswerState
        error={failed[0]?.error ?? null}
        isPending={false}
        retry={() => failed.forEach((answer) => void answer.refetch())}
      />
      <Panel
        title="The coming week, hour by weekday"
        note={`${runsText(total, estimates === 0)}; hours of ${zone}`}
      >
        <WeekHeat rows={rows} colours={colours} prefix={search.prefix} onChoose={setChosen} />
        {arrived + failed.length < answers.length ? (
          <p className="minute-note quiet" role="status" aria-busy="true">
            {arrived} of {answers.length} days have arrived …
          </p>
        ) : null}
        <p className="minute-note quiet">
          {shown === null ? (
            "No hour has a run."
          ) : (
            <>
              {shown === busiest ? "The busiest hour: " : null}
              <Link className="instant" to="/agenda" search={{ ...windowOf(shown), prefix: search.prefix }}>
                {cellText(shown)}
              </Link>
            </>
          )}
        </p>
        <HeatLegend colours={colours} unit="runs an hour">
          {cells.some(({ isBegun }) => isBegun) ? (
            <span>
              <i className="begun" aria-hidden="true" />
              this hour, what is left of it
            </span>
          ) : null}
          {cells.some(({ isTwice, state }) => isTwice || state === "missing") ? (
            <span>△ the clocks change: the hour does not exist, or is the sum of two</span>
          ) : null}
        </HeatLegend>
        <Estimated days={estimates} of={answers.length} />
      </Panel>
    </>
  );
}
