import * as z from "zod";
import { agendaPlaceText, readAgendaPlace } from "../../agenda/agenda.ts";
import { lastRunsMax } from "../../agenda/last-runs.ts";
import { agendaOutcomes } from "../../agenda/outcomes.ts";
import { readRule } from "../../agenda/rule-text.ts";
import { windowMaxMs } from "../../agenda/window.ts";
import { canonicalTimezone } from "../../cadence/zone/timezone.ts";
import { readKey } from "../../command/schedule-input.ts";
import { Refusal } from "../../refusal.ts";
import { instantShape } from "../../schedule/shape/instant-shape.ts";
import { keyShape } from "../../schedule/shape/schedule-key.ts";
import { storableText } from "../../schedule/shape/text.ts";
import type { Token } from "../../token/token.ts";
import { agendaDocs, lastRunsDoc } from "../document/agenda-docs.ts";
import type { Operations } from "../operations/operations.ts";
import { pageQuery } from "../request/query.ts";
import { narrowedOrRefused, refuseForeignKey } from "../request/reach.ts";
import { noQuery, type Route, readShape, route } from "../request/route.ts";
import { targetFilter } from "../request/schedule-query.ts";
import { readSearchCursor, writeSearchCursor } from "../request/search-cursor.ts";
import {
  agendaCountsView,
  agendaSchedulesView,
  agendaView,
  lastRunsView,
  stripView,
} from "../views/agenda-view.ts";

const windowQuery = {
  from: instantShape.describe("Occurrences from this instant …"),
  to: instantShape.describe("… until before this one, at most 32 days later."),
};

const filterQuery = {
  prefix: storableText({ max: 255 }).optional().describe("Keys that begin with this."),
  group: keyShape.optional().describe("One group."),
  tag: keyShape.optional().describe("One tag."),
  target: targetFilter.optional(),
  rule: z
    .string()
    .refine((text) => readRule(text) !== null, {
      error: "takes the `rule` of a cadence as the counts have it, such as `cadence-7` or `every-60000`",
    })
    .optional()
    .describe("One cadence, by the `rule` that the counts have of it."),
};

interface Asked {
  prefix?: string | undefined;
  rule?: string | undefined;
}

/** The filter of a query, within the reach of the token. */
function filterOf<Query extends Asked>(token: Pick<Token, "prefix">, { rule, ...asked }: Query) {
  return {
    ...asked,
    prefix: narrowedOrRefused(token, asked.prefix),
    rule: rule === undefined ? undefined : (readRule(rule) ?? undefined),
  };
}

/** An instant that is not understood is a text still, and has a fault of its own. */
function isWindow({ from, to }: { from: unknown; to: unknown }): boolean {
  if (!(from instanceof Date && to instanceof Date)) return true;
  const length = to.getTime() - from.getTime();
  return length > 0 && length <= windowMaxMs;
}

const noWindow = { path: ["to"], error: "must lie after `from`, by at most 32 days" };

const listQuery = z
  .strictObject({
    ...windowQuery,
    ...filterQuery,
    outcome: z
      .enum(agendaOutcomes)
      .optional()
      .describe(
        "Only items with this outcome, such as `held`. A page may then be short or empty more often.",
      ),
    timezone: z
      .string()
      .refine((name) => canonicalTimezone(name) !== null, {
        error: "takes the name of an IANA time zone, such as `Europe/Berlin`",
      })
      .default("UTC")
      .describe("The zone of `wall`."),
    ...pageQuery,
  })
  .refine(isWindow, noWindow);

const countQuery = z.strictObject({ ...windowQuery, ...filterQuery }).refine(isWindow, noWindow);

const schedulesQuery = z
  .strictObject({
    ...windowQuery,
    ...filterQuery,
    outcome: z.enum(agendaOutcomes).describe("The outcome of the occurrences, such as `held`."),
  })
  .refine(isWindow, noWindow);

const stripQuery = z.strictObject({
  from: instantShape.optional().describe("Default: 24 hours before `to`."),
  to: instantShape.optional().describe("Before this instant; default: now."),
  ...pageQuery,
});

const lastShape = z.strictObject({
  keys: z.array(keyShape).min(1).max(lastRunsMax.keys),
  n: z.int().min(1).max(lastRunsMax.occurrences).default(lastRunsMax.occurrences),
});

/** Routes of occurrences: of all schedules, of one, and the last of many. */
export function agendaRoutes({ agenda }: Operations): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/occurrences",
      scope: "read",
      query: listQuery,
      doc: agendaDocs.list,
      kind: "count",
      cost: 10,
      answer: async ({ query: { cursor, limit, timezone, from, to, outcome, ...asked }, token }) => {
        const zone = canonicalTimezone(timezone) ?? "UTC";
        const filter = filterOf(token, asked);
        const mark = { ...filter, from, to, outcome };
        const place = readSearchCursor(cursor, "agenda", mark, (text) => readAgendaPlace(text) !== null);
        const read = await agenda.read({
          window: { from: from.getTime(), to: to.getTime() },
          filter,
          outcome,
          after: place === undefined ? undefined : (readAgendaPlace(place) ?? undefined),
          limit,
        });
        const more =
          read.next === undefined
            ? {}
            : { cursor: writeSearchCursor("agenda", mark, agendaPlaceText(read.next)) };
        return { status: 200, body: { ...agendaView(read, zone), ...more } };
      },
    }),
    route({
      method: "GET",
      path: "/v1/occurrences:count",
      scope: "read",
      query: countQuery,
      doc: agendaDocs.count,
      kind: "count",
      cost: 20,
      answer: async ({ query: { from, to, ...asked }, token }) => {
        const window = { from: from.getTime(), to: to.getTime() };
        return { status: 200, body: agendaCountsView(await agenda.count(window, filterOf(token, asked))) };
      },
    }),
    route({
      method: "GET",
      path: "/v1/occurrences:schedules",
      scope: "read",
      query: schedulesQuery,
      doc: agendaDocs.schedules,
      kind: "count",
      cost: 20,
      answer: async ({ query: { from, to, outcome, ...asked }, token }) => {
        const window = { from: from.getTime(), to: to.getTime() };
        const filter = filterOf(token, asked);
        const counts = await agenda.countSchedules({ window, filter, outcome });
        return { status: 200, body: agendaSchedulesView(counts) };
      },
    }),
    stripRoute(agenda),
    route({
      method: "POST",
      path: "/v1/occurrences:last",
      scope: "read",
      query: noQuery,
      doc: lastRunsDoc(lastShape),
      kind: "read",
      cost: 2,
      answer: async ({ body, token }) => {
        const { keys, n } = readShape(lastShape, body(), "body");
        for (const key of keys) refuseForeignKey(token, key);
        return { status: 200, body: lastRunsView(await agenda.last({ keys, most: n })) };
      },
    }),
  ];
}

const dayMs = 86_400_000;

function stripRoute(agenda: Operations["agenda"]): Route {
  return route({
    method: "GET",
    path: "/v1/schedules/{key}/occurrences",
    scope: "read",
    query: stripQuery,
    doc: agendaDocs.strip,
    kind: "count",
    cost: 3,
    answer: async ({ parameter, query: { cursor, limit, from: first, to: end } }) => {
      const key = readKey(parameter("key"));
      const place = readSearchCursor(
        cursor,
        "strip",
        { key, first, end },
        (text) => readPlace(text) !== null,
      );
      const to = (end ?? (await agenda.now())).getTime();
      const asked = { from: first?.getTime() ?? to - dayMs, to };
      const window = place === undefined ? asked : (readPlace(place) ?? asked);
      if (!isWindow({ from: new Date(window.from), to: new Date(window.to) }))
        throw new Refusal("invalid", "The query is not understood.", [
          end === undefined
            ? { path: "from", message: "must lie before now, by at most 32 days, where `to` is not given" }
            : { path: "to", message: noWindow.error },
        ]);
      const strip = await agenda.strip({ key, window, limit });
      const more =
        strip.next === undefined
          ? {}
          : { cursor: writeSearchCursor("strip", { key, first, end }, `${strip.next}-${window.to}`) };
      return { status: 200, body: { ...stripView(key, strip), ...more } };
    },
  });
}

/** Where a strip continues, and where it ends: without `to` each page would have another end. */
function readPlace(text: string): { from: number; to: number } | null {
  const [, from, to] = /^(\d{1,15})-(\d{1,15})$/.exec(text) ?? [];
  return from === undefined || to === undefined || Number(from) >= Number(to)
    ? null
    : { from: Number(from), to: Number(to) };
}
