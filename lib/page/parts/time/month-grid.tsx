import type { ReactNode } from "react";
import { daysOf, monthAfter, monthText, weekdayNames } from "../../data/time/months.ts";
import "../../look/month.css";

interface MonthGridProps {
  month: string;
  onMonth(month: string): void;
  /** The content of a day. */
  day(date: string): ReactNode;
  /** The class of a day. */
  look(date: string): string | undefined;
}

/** The days of a month in weeks from Monday to Sunday. */
export function MonthGrid({ month, onMonth, day, look }: MonthGridProps) {
  const { days, offset } = daysOf(month);
  const cells: (string | null)[] = [...Array.from({ length: offset }, () => null), ...days];
  while (cells.length % 7 > 0) cells.push(null);
  const weeks = Array.from({ length: cells.length / 7 }, (_, week) => cells.slice(week * 7, week * 7 + 7));
  return (
    <div className="month">
      <div className="month-head">
        <button
          type="button"
          className="button"
          aria-label="The month before"
          onClick={() => onMonth(monthAfter(month, -1))}
        >
          ‹
        </button>
        <b aria-live="polite">{monthText(month)}</b>
        <button
          type="button"
          className="button"
          aria-label="The month after"
          onClick={() => onMonth(monthAfter(month, 1))}
        >
          ›
        </button>
      </div>
      <table aria-label={monthText(month)}>
        <thead>
          <tr>
            {weekdayNames.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {weeks.map((week) => (
            <tr key={week.find((date) => date !== null)}>
              {week.map((date, place) => (
                <td key={weekdayNames[place]} className={date === null ? "outside" : look(date)}>
                  {date === null ? null : day(date)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
