import { queryOptions } from "@tanstack/react-query";
import type { Carillon } from "../../../client/carillon.ts";
import type { ForecastParams } from "../../../client/forecast.ts";
import type { Ask } from "./week-map.ts";

/**
 * The runs of each minute ahead, and with a spread the curve that it would give. The plan moves on
 * between two answers, so one with a spread is also the newest one without: back at no spread the same
 * minute has the same number.
 */
export const forecastQuery = (carillon: Carillon, params: ForecastParams) =>
  queryOptions({
    queryKey: ["forecast", params],
    queryFn: async ({ signal, client }) => {
      const forecast = await carillon.forecast(params, { signal });
      if (forecast.spread !== null)
        client.setQueryData(["forecast", { ...params, spread: undefined }], { ...forecast, spread: null });
      return forecast;
    },
    placeholderData: (before) => before,
    staleTime: 60_000,
  });

/** A day ahead changes little, and its forecast costs the server more than any other answer here. */
const dayStaleMs = 300_000;

/** A day of the coming week. Days are asked for one after the other. */
export const dayAheadQuery = (carillon: Carillon, ask: Ask, prefix: string | undefined) =>
  queryOptions({
    queryKey: ["forecast", "day ahead", ask, prefix],
    queryFn: ({ signal }) =>
      inTurn(() => {
        signal.throwIfAborted();
        const from = ask.isNow ? undefined : new Date(ask.begin);
        return carillon.forecast({ from, minutes: ask.minutes, prefix }, { signal });
      }),
    staleTime: dayStaleMs,
  });

let last: Promise<unknown> = Promise.resolve();

/** Asks when all earlier questions are answered. */
function inTurn<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  const answer = last.then(ask);
  last = answer.catch(() => undefined);
  return answer;
}
