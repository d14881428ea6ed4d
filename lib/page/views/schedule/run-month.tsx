import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { StripItem } from "../../../client/agenda.ts";
import { monthRunsQuery } from "../../data/one-schedule-queries.ts";
import { dateText, wallMinute } from "../../data/time/zone.ts";
import { useSession } from "../../hooks/session-context.ts";
import { useNow } from "../../hooks/use-now.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { Panel } from "../../parts/panel.tsx";
import { MonthGrid } from "../../parts/time/month-grid.tsx";

interface RunMonthProps {
  name: string;
  timezone: string;
  month: string | undefined;
}

/** A month of occurrences, past and to come, in the schedule's zone. */
export function RunMonth({ name, timezone, month }: RunMonthProps) {
  const { carillon } = useSession();
  const navigate = useNavigate({ from: "/schedules/$key" });
  const today = dateText(useNow(), timezone);
  const shown = month ?? today.slice(0, 7);
  const runs = useQuery(monthRunsQuery(carillon, name, { month: shown, timezone }));
  const byDay = Map.groupBy(runs.data?.items ?? [], ({ wall }) => wall.slice(0, 10));
  const last = runs.data?.items.at(-1);
  // With a cursor, the days after the last item are not known.
  const isCut = runs.data?.cursor !== undefined;
  const drawnTo = isCut ? (last?.wall.slice(0, 10) ?? "") : "9999";
  return (
    <Panel title="Month" note={timezone}>
      <MonthGrid
        month={shown}
        onMonth={(chosen) =>
          void navigate({ search: (before) => ({ ...before, month: chosen }), replace: true })
        }
        look={(date) =>
          [date === today ? "today" : "", date > drawnTo ? "undrawn" : lookOfDay(byDay.get(date) ?? [])]
            .filter((each) => each !== "")
            .join(" ")
        }
        day={(date) => (
          <Day
            name={name}
            date={date}
            runs={byDay.get(date) ?? []}
            isDrawn={date <= drawnTo}
            isCut={date === drawnTo}
          />
        )}
      />
      <AnswerState error={runs.error} isPending={runs.isPending} retry={() => void runs.refetch()} />
      {isCut ? (
        <p className="month-more">
          The month has more:{" "}
          {last === undefined
            ? "none of its occurrences is drawn."
            : `the first ${runs.data?.items.length} occurrences are drawn, up to ${wallMinute(last.wall)}.`}
        </p>
      ) : null}
    </Panel>
  );
}

const isSkipped = ({ outcome }: StripItem) => outcome === "skipped";

function lookOfDay(runs: readonly StripItem[]): string {
  if (runs.some(({ note }) => note !== null)) return "noted";
  return runs.length > 0 && runs.every(isSkipped) ? "off" : "";
}

interface DayProps {
  name: string;
  date: string;
  runs: readonly StripItem[];
  isDrawn: boolean;
  /** The last occurrences of the day are not known. */
  isCut: boolean;
}

function Day({ name, date, runs, isDrawn, isCut }: DayProps) {
  const [first] = runs;
  const noted = runs.find(({ note }) => note !== null);
  const shown = noted ?? first;
  const isOff = first !== undefined && runs.every(isSkipped);
  return (
    <>
      <span className="date">{Number(date.slice(8))}</span>
      {isDrawn ? null : <span className="quiet">not drawn</span>}
      {shown === undefined ? null : (
        <Link
          to="/schedules/$key"
          params={{ key: name }}
          search={(before) => ({ ...before, why: shown.occurrence })}
          className="instant"
          title={[shown.sentence, shown.note].filter((part) => part !== null).join("\n")}
        >
          {noted === undefined ? null : (
            <span className="mark">
              △ <span className="hidden">{noted.note}. </span>
            </span>
          )}
          {isOff ? <s>{shown.wall.slice(11, 16)}</s> : shown.wall.slice(11, 16)}
        </Link>
      )}
      {isOff ? <span className="skipped">skipped</span> : null}
      {runs.length > 1 ? (
        <span className="quiet">
          {" "}
          ×{runs.length}
          {isCut ? " or more" : ""}
        </span>
      ) : null}
    </>
  );
}
