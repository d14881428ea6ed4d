import * as z from "zod";
import { storableText } from "../../schedule/shape/text.ts";
import type { Forecast } from "../../stats/forecast.ts";
import type { Operations } from "../operations/operations.ts";
import { wholeNumber } from "../request/query.ts";
import { narrowedOrRefused, refusePrefixed } from "../request/reach.ts";
import { type Route, route } from "../request/route.ts";
import {
  forecastAnswer,
  forecastExample,
  forecastMinutesMax,
  statsAnswer,
  statsExample,
} from "../views/stats-shape.ts";
import { prefixStatsView, statsView } from "../views/stats-view.ts";

/** Statistics and forecast over all schedules. */
export function statsRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/stats",
      scope: "read",
      query: z.strictObject({
        prefix: storableText({ max: 255 }).optional().describe("Keys that begin with this."),
      }),
      doc: {
        summary: "Read current counts and those of the last minutes, hour and day",
        description:
          "Counts are rolled up by the tick, so the request is as fast with millions of schedules. With a prefix, a bounded part of the ledger is read, and some parts of the answer are null. A token with a prefix gets the counts of its own keys.",
        tag: "Insight",
        answers: { 200: { what: "The counts", schema: statsAnswer, example: statsExample } },
      },
      answer: async ({ token, query }) => {
        const prefix = narrowedOrRefused(token, query.prefix);
        if (prefix === undefined) return { status: 200, body: statsView(await operations.readStats()) };
        return { status: 200, body: prefixStatsView(prefix, await operations.readPrefixStats(prefix)) };
      },
    }),
    route({
      method: "GET",
      path: "/v1/forecast",
      scope: "read",
      query: z.strictObject({
        minutes: wholeNumber({ min: 1, max: forecastMinutesMax, byDefault: 60 }),
      }),
      doc: {
        summary: "Forecast the fires per minute",
        description:
          "Counts jobs of the current plan and cadences, without pulses. Retries, `endsAt` and `maxFires` are ignored; a pause with an end counts as one fire at its end. A token with a prefix has no access.",
        tag: "Insight",
        answers: { 200: { what: "The coming minutes", schema: forecastAnswer, example: forecastExample } },
      },
      answer: async ({ token, query: { minutes } }) => {
        refusePrefixed(token, "The forecast of all schedules");
        return { status: 200, body: forecastView(await operations.readForecast(minutes)) };
      },
    }),
  ];
}

function forecastView({ asOf, minutes, heaviest, ...rest }: Forecast): z.input<typeof forecastAnswer> {
  return {
    asOf: asOf.toISOString(),
    minutes: minutes.map(({ at, fires }) => ({ at: at.toISOString(), fires })),
    heaviest: heaviest.map((minute) => ({ ...minute, at: minute.at.toISOString() })),
    ...rest,
  };
}
