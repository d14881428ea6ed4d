import * as z from "zod";
import { instantShape } from "../../schedule/shape/instant-shape.ts";
import { keyShape } from "../../schedule/shape/schedule-key.ts";
import { storableText } from "../../schedule/shape/text.ts";
import type { Series } from "../../stats/series.ts";
import { readSeriesPlace } from "../../stats/series-place.ts";
import { stepsMax } from "../../stats/series-steps.ts";
import type { Operations } from "../operations/operations.ts";
import { wholeNumber } from "../request/query.ts";
import { narrowedOrRefused, refuseForeignKey } from "../request/reach.ts";
import { type Route, route } from "../request/route.ts";
import { targetFilter } from "../request/schedule-query.ts";
import { readSearchCursor, writeSearchCursor } from "../request/search-cursor.ts";
import { seriesAnswer, seriesExample } from "../views/series-shape.ts";
import { freshnessView } from "../views/stats-view.ts";

const seriesQuery = z
  .strictObject({
    from: instantShape
      .optional()
      .describe("The first step is that of this instant; default: an hour before `to`."),
    to: instantShape.optional().describe("Steps before this instant; default: now."),
    step: z.enum(["1m", "5m", "15m", "1h"]).default("1m").describe("The length of a step."),
    key: keyShape.optional().describe("One schedule."),
    prefix: storableText({ max: 255 }).optional().describe("Keys that begin with this."),
    group: keyShape.optional().describe("One group."),
    tag: keyShape.optional().describe("One tag."),
    target: targetFilter.optional(),
    limit: wholeNumber({ min: 1, max: stepsMax, byDefault: 60 }),
    cursor: z
      .string()
      .max(6_000)
      .optional()
      .describe("The `cursor` of the page before. It is refused with other filters."),
  })
  .refine(({ from, to }) => from === undefined || to === undefined || from < to, {
    path: ["to"],
    error: "must lie after `from`",
  });

const description = [
  "Newest first. Without a filter all jobs count, in the step in which they were settled; these counts are kept for two days.",
  "With `key`, `prefix`, `group`, `tag` or `target`, and for a token with a prefix, jobs are read from the ledger and count in the step of their occurrence; a later retry changes a past step.",
  "A page covers a day at most. With a filter it reads up to 500,000 jobs of all schedules, or 100,000 if it has neither `key`, `prefix` nor `group`, or these name more than 10,000 schedules; of up to 20 schedules it reads their own jobs only.",
  "It holds complete steps: it may have fewer than `limit`, even none, and still a `cursor`.",
  "With a filter, a series that is asked from long ago begins a day before the oldest record.",
].join(" ");

export function seriesRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/series",
      scope: "read",
      query: seriesQuery,
      doc: {
        summary: "Read outcomes, lateness and throughput by steps of time",
        description,
        tag: "Insight",
        answers: { 200: { what: "The steps", schema: seriesAnswer, example: seriesExample } },
      },
      kind: "count",
      cost: 10,
      answer: async ({ query: { limit, cursor, from, to, step, ...asked }, token }) => {
        if (asked.key !== undefined) refuseForeignKey(token, asked.key);
        const owners = { ...asked, prefix: narrowedOrRefused(token, asked.prefix) };
        const filter = { ...owners, step, from: from?.getTime(), to: to?.getTime() };
        const text = readSearchCursor(cursor, "series", filter, (place) => readSeriesPlace(place) !== null);
        const after = text === undefined ? undefined : (readSeriesPlace(text) ?? undefined);
        const { next, ...series } = await operations.readSeries({ owners, from, to, step, limit, after });
        const more = next === undefined ? {} : { cursor: writeSearchCursor("series", filter, next) };
        return { status: 200, body: { ...seriesView(series), ...more } };
      },
    }),
  ];
}

function seriesView({ asOf, freshness, items, ...rest }: Omit<Series, "next">): z.input<typeof seriesAnswer> {
  return {
    asOf: asOf.toISOString(),
    ...rest,
    freshness: freshness === null ? null : freshnessView(freshness),
    items: items.map((item) => ({ ...item, at: item.at.toISOString() })),
  };
}
