import { queryOptions } from "@tanstack/react-query";
import type { Carillon } from "../../client/carillon.ts";
import type { ForecastParams } from "../../client/forecast.ts";

/** The runs of each minute ahead, and with a spread the curve that it would give. */
export const forecastQuery = (carillon: Carillon, params: ForecastParams) =>
  queryOptions({
    queryKey: ["forecast", params],
    queryFn: ({ signal }) => carillon.forecast(params, { signal }),
    placeholderData: (before) => before,
    staleTime: 60_000,
  });
