import { useNavigate, useSearch } from "@tanstack/react-router";
import { useNow } from "../../hooks/use-now.ts";
import { Panel } from "../../parts/panel.tsx";
import { MonthGrid } from "../../parts/time/month-grid.tsx";
import { dayTest, type Rules, withDay } from "./calendar-rules.ts";

/** The days of a month; choosing one changes the rules. */
export function Months({ rules, onChange }: { rules: Rules; onChange: ((rules: Rules) => void) | null }) {
  const { month } = useSearch({ from: "/calendars/$name" });
  const navigate = useNavigate({ from: "/calendars/$name" });
  const today = new Date(useNow()).toISOString().slice(0, 10);
  const first = month ?? today.slice(0, 7);
  const isOff = dayTest(rules);
  return (
    <div className="months">
      <Panel
        title="Days"
        note={onChange === null ? "shaded: no runs" : "shaded: no runs; choose a day to change it"}
      >
        <MonthGrid
          month={first}
          onMonth={(chosen) =>
            void navigate({ search: (before) => ({ ...before, month: chosen }), replace: true })
          }
          look={(date) =>
            [isOff?.(date) === true ? "off" : "", date === today ? "today" : ""].join(" ").trim() || undefined
          }
          day={(date) => (
            <DayButton
              date={date}
              isOff={isOff?.(date) === true}
              onClick={onChange === null || isOff === null ? null : () => onChange(withDay(rules, date))}
            />
          )}
        />
      </Panel>
    </div>
  );
}

function DayButton({ date, isOff, onClick }: { date: string; isOff: boolean; onClick: (() => void) | null }) {
  return (
    <button
      type="button"
      className="day"
      aria-pressed={isOff}
      disabled={onClick === null}
      onClick={onClick ?? undefined}
    >
      <span className="date" aria-hidden="true">
        {Number(date.slice(8))}
      </span>
      <span className="hidden">{date}: </span>
      {isOff ? "no runs" : <span className="hidden">runs</span>}
    </button>
  );
}
