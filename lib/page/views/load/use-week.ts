import { type UseQueryResult, useQueries } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Forecast } from "../../../client/forecast.ts";
import { dayAheadQuery } from "../../data/load/load-queries.ts";
import { type ForecastHour, hourSums, hoursFrom, type WeekDay, weekOf } from "../../data/load/week-map.ts";
import { useSession } from "../../hooks/session-context.ts";
import { useHour } from "../../hooks/use-now.ts";
import { useZone } from "../../hooks/use-zone.ts";

export interface WeekCell extends ForecastHour {
  day: WeekDay;
  /** Null before its answer arrives, and for an hour without time. */
  fires: number | null;
  isExact: boolean;
}

export interface WeekRow {
  day: WeekDay;
  cells: WeekCell[];
}

/** The coming week with the sums that have arrived, and its answers. */
export function useWeek(prefix: string | undefined): {
  rows: WeekRow[];
  answers: UseQueryResult<Forecast>[];
} {
  const { carillon } = useSession();
  const zone = useZone();
  const hour = useHour();
  const days = useMemo(() => weekOf(hour, zone), [hour, zone]);
  const asks = days.flatMap((day) => day.asks);
  const answers = useQueries({ queries: asks.map((ask) => dayAheadQuery(carillon, ask, prefix)) });
  const first = answers[0]?.data?.minutes[0]?.at;
  const rows = days.map((day) => {
    const own = day.asks.map((ask) => answers[asks.indexOf(ask)]?.data);
    const sums = hourSums(day, own);
    const isExact = own.every((answer) => answer?.exact !== false);
    const hours = hoursFrom(day.hours, first === undefined ? undefined : Date.parse(first));
    return {
      day,
      cells: hours.map((each, place) => ({ ...each, day, fires: sums[place] ?? null, isExact })),
    };
  });
  return { rows, answers };
}
