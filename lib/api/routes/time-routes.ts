import * as z from "zod";
import { readKey } from "../../command/schedule-input.ts";
import type { ComingOccurrence } from "../../history/next-occurrences.ts";
import type { PreviewParams } from "../../history/preview.ts";
import { type Fault, Refusal } from "../../refusal.ts";
import { type Besides, refusalsOf } from "../../schedule/shape/faults-together.ts";
import { instantShape } from "../../schedule/shape/instant-shape.ts";
import { keyShape } from "../../schedule/shape/schedule-key.ts";
import { parseScheduleBody, scheduleShape, withWhen } from "../../schedule/shape/schedule-shape.ts";
import { shapeFaults } from "../../schedule/shape/shape-faults.ts";
import { targetShape } from "../../schedule/shape/target-shape.ts";
import { explainDoc, nextDoc, previewDoc } from "../document/time-docs.ts";
import type { Operations } from "../operations/operations.ts";
import { type Counted, rowsCost, rowsOfUnit } from "../request/cost.ts";
import { wholeNumber } from "../request/query.ts";
import { noQuery, type Route, route, workRoute } from "../request/route.ts";
import { explanationView } from "../views/explanation-view.ts";
import { holdView } from "../views/schedule-view.ts";

const occurrencesMax = 1_000;
const occurrencesByDefault = 10;

const nextQuery = z.strictObject({
  n: wholeNumber({ min: 1, max: occurrencesMax, byDefault: occurrencesByDefault }),
  from: instantShape.optional(),
});

const occurrencesCost: Counted<{ n: number }> = {
  per: `each ${rowsOfUnit} occurrences`,
  most: rowsCost(occurrencesMax),
  of: ({ n }) => rowsCost(n),
};

const explainQuery = z.strictObject({ at: instantShape });

/** Fields of a preview beside the schedule's body. */
const previewShape = z.object({
  key: keyShape.optional(),
  n: z
    .int()
    .min(1)
    .max(occurrencesMax)
    .default(occurrencesByDefault)
    .describe("How many occurrences are listed."),
  from: instantShape.nullish().describe("Occurrences strictly after this instant."),
});

/** The whole body of a preview, for the OpenAPI document. */
const previewBodyShape = z.strictObject({
  ...scheduleShape.shape,
  target: targetShape.optional(),
  ...previewShape.shape,
});

/**
 * Routes of a schedule's times: coming occurrences, a preview without saving, and the explanation
 * of an instant.
 */
export function timeRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/schedules/{key}/next",
      scope: "read",
      query: nextQuery,
      doc: nextDoc,
      cost: occurrencesCost,
      answer: async ({ parameter, query: { n, from } }) => {
        const key = readKey(parameter("key"));
        const next = await operations.nextOccurrences({ key, n, from: from?.getTime() });
        const { timezone, occurrences, holds, heldUntil } = next;
        return {
          status: 200,
          body: {
            ...occurrencesView(occurrences),
            timezone,
            ...(holds.length === 0 ? {} : { holds: holds.map(holdView), heldUntil }),
          },
        };
      },
    }),
    workRoute({
      method: "POST",
      path: "/v1/preview",
      scope: "read",
      query: noQuery,
      doc: previewDoc(previewBodyShape),
      read: ({ body }) => readPreview(body(), operations.besides),
      kind: "read",
      cost: occurrencesCost,
      answer: async (params) => {
        const { occurrences, ...preview } = await operations.previewSchedule(params);
        return { status: 200, body: { ...occurrencesView(occurrences), ...preview } };
      },
    }),
    route({
      method: "GET",
      path: "/v1/schedules/{key}/explain",
      scope: "read",
      query: explainQuery,
      doc: explainDoc,
      cost: 2,
      answer: async ({ parameter, query: { at } }) => {
        const key = readKey(parameter("key"));
        return { status: 200, body: explanationView(await operations.explain({ key, at })) };
      },
    }),
  ];
}

/**
 * `due` is present only where `spread` or `slot` moves the occurrence, `held` only where a hold
 * delays it.
 */
function occurrencesView(occurrences: readonly (Omit<ComingOccurrence, "held"> & { held?: boolean })[]) {
  return {
    occurrences: occurrences.map(({ at }) => new Date(at)),
    details: occurrences.map(({ at, wall, due, held, note }) => ({
      at: new Date(at),
      wall,
      ...(due === null ? {} : { due: new Date(due) }),
      ...(held === true ? { held } : {}),
      note,
    })),
  };
}

/**
 * A preview needs no target, but checks every other field as when saving. This placeholder fits
 * every delivery.
 */
const noTarget = { queue: "none" };

function readPreview(input: unknown, besides: Besides): PreviewParams {
  if (typeof input !== "object" || input === null || Array.isArray(input))
    throw notUnderstood([{ path: "", message: "takes a JSON object" }]);
  const { key, n, from, ...rest } = { key: undefined, n: undefined, from: undefined, ...input };
  const shaped = previewShape.safeParse({ key, n, from }, { reportInput: true });
  const read = () => parseScheduleBody({ target: noTarget, ...rest }, () => besides(rest));
  if (!shaped.success) {
    const inBody = refusalsOf(read);
    const others = inBody.length > 0 ? inBody : besides(rest);
    throw withWhen([notUnderstood(shapeFaults(shaped.error)), ...others], rest);
  }
  const body = read();
  return {
    key: shaped.data.key,
    body,
    targeted: "target" in rest,
    n: shaped.data.n,
    from: shaped.data.from?.getTime(),
  };
}

function notUnderstood(faults: readonly Fault[]): Refusal {
  return new Refusal("invalid", "The preview is not understood.", faults);
}
