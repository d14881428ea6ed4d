import * as z from "zod";
import { durationMs } from "../../cadence/duration.ts";
import { instantShape } from "../../schedule/shape/instant-shape.ts";
import { storableText } from "../../schedule/shape/text.ts";
import { dayMs, durationShape, minuteMs } from "../../schedule/shape/timing-shape.ts";
import { contributors } from "../../stats/contributors.ts";
import { forecastDaysMax, prefixSchedulesMax } from "../../stats/forecast.ts";
import type { Operations } from "../operations/operations.ts";
import { wholeNumber } from "../request/query.ts";
import { narrowedOrRefused } from "../request/reach.ts";
import { type Route, route } from "../request/route.ts";
import { forecastAnswer, forecastExample, forecastView } from "../views/forecast-shape.ts";

/** One day. */
export const forecastMinutesMax = 1_440;

const forecastQuery = z.strictObject({
  from: instantShape
    .optional()
    .describe(`The first minute, from now to ${forecastDaysMax} days ahead. Default: now.`),
  minutes: wholeNumber({ min: 1, max: forecastMinutesMax, byDefault: 60 }),
  spread: durationShape({ minMs: minuteMs, maxMs: dayMs, range: "from 1m to 24h" })
    .transform((text) => ({ text, ms: durationMs(text) ?? minuteMs }))
    .optional(),
  by: z
    .enum(contributors)
    .optional()
    .describe(
      "Name the largest contributors: by key up to its first colon (`prefix`), tag, target, or key. A schedule counts for each of its tags.",
    ),
  prefix: storableText({ max: 255 })
    .optional()
    .describe(
      `Only schedules whose keys begin with it, at most ${prefixSchedulesMax.toLocaleString("en-GB")} (422 with more).`,
    ),
});

export function forecastRoutes(operations: Pick<Operations, "readForecast">): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/forecast",
      scope: "read",
      query: forecastQuery,
      doc: {
        summary: "Forecast the fires per minute",
        description:
          "Counts jobs of the current plan and cadences, without pulses. Retries, `endsAt` and `maxFires` are ignored; a pause with an end counts as one fire at its end. Beyond 20,000 plan rows numbers are estimates from a sample (`exact` is false). With a prefix, of the request or of the token, the schedules are read one by one.",
        tag: "Insight",
        answers: {
          200: { what: "The requested minutes", schema: forecastAnswer, example: forecastExample },
        },
        problems: [422],
      },
      kind: "count",
      cost: 10,
      answer: async ({ token, query: { prefix, ...query } }) => {
        const within = narrowedOrRefused(token, prefix);
        const withCapacity = token.prefix === null;
        const forecast = await operations.readForecast({ ...query, prefix: within, withCapacity });
        return { status: 200, body: forecastView(forecast) };
      },
    }),
  ];
}
