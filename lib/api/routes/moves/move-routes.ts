import * as z from "zod";
import type { MoveProgress } from "../../../move/hand-over-parts.ts";
import type { Move } from "../../../move/moves.ts";
import { storableText } from "../../../schedule/shape/text.ts";
import type { Operations } from "../../operations/operations.ts";
import type { Counted } from "../../request/cost.ts";
import { noQuery, type Route, readShape, route, workRoute } from "../../request/route.ts";
import { prefixShape } from "../../views/token-shape.ts";
import {
  addressShape,
  idDoc,
  moveExamples,
  moveIdFrom,
  moveSchema,
  moveView,
  partName,
  partText,
  scheduleNumber,
  stepMax,
  tag,
} from "./move-shape.ts";

const everyKey = "A move to another installation";
const parameters = { id: idDoc };

/** Routes of the installation that a prefix leaves. `carillon move` calls them. */
export function moveRoutes({ moves }: Pick<Operations, "moves">): Route[] {
  return [beginRoute(moves), ...readRoutes(moves), stepRoute(moves), forgetRoute(moves)];
}

const beginShape = z.strictObject({
  prefix: prefixShape.describe("All schedules with keys that begin with it move."),
  to: addressShape.describe("The address of the installation to which they move."),
});

function beginRoute(moves: Operations["moves"]): Route {
  return route({
    method: "POST",
    path: "/v1/moves",
    scope: "admin",
    everyKey,
    query: noQuery,
    doc: {
      summary: "Begin to move a prefix to another installation",
      operation: "beginMove",
      description:
        "The first request of `carillon move`. It moves nothing yet. A repeated request finds the move of this prefix to this address.",
      tag,
      body: {
        schema: beginShape,
        example: { prefix: moveExamples.out.prefix, to: moveExamples.out.peer },
      },
      answers: { 201: { what: "The move.", schema: moveSchema, example: moveExamples.out } },
      problems: [409],
    },
    answer: async ({ body, caller }) => {
      const { prefix, to } = readShape(beginShape, body(), "body");
      return { status: 201, body: moveView(await moves.begin({ prefix, peer: to, caller })) };
    },
  });
}

const readSchema = moveSchema
  .extend({
    progress: z.strictObject({
      left: z.int().describe("Schedules with the prefix that are still here, counted up to 10,000."),
      taken: z.int().describe("Schedules that are gone from here."),
      unconfirmed: z.int().describe("Parts that the other installation has not confirmed."),
    }),
  })
  .meta({ id: "MoveRead", description: "A move out of this installation, and its progress." });

function readView(move: Move, { left, taken, unconfirmed }: MoveProgress) {
  return { ...moveView(move), progress: { left, taken, unconfirmed } };
}

function readRoutes(moves: Operations["moves"]): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/moves",
      scope: "admin",
      everyKey,
      query: noQuery,
      doc: {
        summary: "List the moves of prefixes",
        description: "Out of this installation and into it, the newest first. At most 1,000 are kept.",
        tag,
        answers: {
          200: {
            what: "The moves.",
            schema: z.strictObject({ items: z.array(moveSchema) }),
            example: { items: [moveExamples.out] },
          },
        },
      },
      answer: async () => ({ status: 200, body: { items: (await moves.list()).map(moveView) } }),
    }),
    route({
      method: "GET",
      path: "/v1/moves/{id}",
      scope: "admin",
      everyKey,
      cost: 5,
      query: noQuery,
      doc: {
        summary: "Read a move and its progress",
        description: "A move out of this installation. `GET /v1/arrivals/{id}` reads one into it.",
        tag,
        parameters,
        answers: {
          200: {
            what: "The move.",
            schema: readSchema,
            example: { ...moveExamples.out, progress: { left: 120, taken: 4_080, unconfirmed: 12 } },
          },
        },
        problems: [404],
      },
      answer: async ({ parameter }) => {
        const { move, progress } = await moves.read(moveIdFrom(parameter("id")));
        return { status: 200, body: readView(move, progress) };
      },
    }),
  ];
}

function forgetRoute(moves: Operations["moves"]): Route {
  return route({
    method: "DELETE",
    path: "/v1/moves/{id}",
    scope: "admin",
    everyKey,
    query: noQuery,
    doc: {
      summary: "Delete the record of a move that has ended",
      operation: "forgetMove",
      description: "Its keys are free here again, and requests for them no longer learn where they went.",
      tag,
      parameters,
      answers: { 204: { what: "The record is deleted." } },
      problems: [404, 409],
    },
    answer: async ({ parameter, caller }) => {
      await moves.forget({ id: moveIdFrom(parameter("id")), caller });
      return { status: 204 };
    },
  });
}

const stepShape = z.discriminatedUnion("step", [
  z.strictObject({
    step: z.literal("freeze"),
    after: storableText({ min: 0, max: 1_000 }).describe(
      "The key after which the page begins; empty for the first.",
    ),
    limit: z.int().min(1).max(stepMax),
  }),
  z.strictObject({ step: z.literal("take"), schedules: z.array(scheduleNumber).min(1).max(stepMax) }),
  z.strictObject({ step: z.literal("parts") }),
  z.strictObject({ step: z.literal("confirm"), parts: z.array(partName).min(1).max(stepMax) }),
  z.strictObject({ step: z.literal("take-back"), schedule: scheduleNumber }),
  z.strictObject({ step: z.literal("close") }),
  z.strictObject({ step: z.literal("end"), abandon: z.boolean() }),
]);

type Step = z.output<typeof stepShape>;

const stuckSchema = z
  .strictObject({
    id: z.string(),
    key: z.string(),
    why: z.enum(["running", "unfrozen", "group", "credentials", "unreadable", "jobs", "refused"]),
    detail: z.string().optional(),
  })
  .meta({ id: "StuckSchedule", description: "A schedule that cannot be moved now." });

const stepAnswers = z.union([
  z.strictObject({
    ids: z.array(z.string()).describe("The numbers of schedules that the move holds."),
    stuck: z.array(stuckSchema),
    next: z.string().nullable().describe("The key after which the next page begins."),
  }),
  z.strictObject({ taken: z.int(), stuck: z.array(stuckSchema) }),
  z.strictObject({ parts: z.array(partText) }),
  z.strictObject({ confirmed: z.int() }),
  z.strictObject({ back: z.boolean().describe("False if the move did not have the schedule any more.") }),
  moveSchema,
]);

const cost: Counted<Step> = {
  per: "each schedule that is frozen or taken",
  most: stepMax,
  isReserve: true,
  of: (asked) => (asked.step === "freeze" ? asked.limit : asked.step === "take" ? asked.schedules.length : 1),
};

function stepRoute(moves: Operations["moves"]): Route {
  return workRoute({
    method: "POST",
    path: "/v1/moves/{id}/steps",
    scope: "admin",
    everyKey,
    query: noQuery,
    doc: {
      summary: "Carry out one step of a move",
      operation: "stepMove",
      description:
        "The protocol between `carillon move` and the installation that the schedules leave: use the command. Each step may be repeated.",
      tag,
      parameters,
      body: { schema: stepShape, example: { step: "freeze", after: "", limit: 100 } },
      answers: {
        200: {
          what: "The result of the step.",
          schema: stepAnswers,
          example: { ids: ["1743"], stuck: [], next: null },
        },
      },
      problems: [404, 409, 422],
    },
    kind: "bulk",
    cost,
    read: ({ body }) => readShape(stepShape, body(), "body"),
    answer: async (asked, { parameter, caller }) => {
      const steps = moves.source(moveIdFrom(parameter("id")), caller);
      const { units = 1, ...body } = await stepped(steps, asked);
      return { status: 200, body, units };
    },
  });
}

async function stepped(
  steps: ReturnType<Operations["moves"]["source"]>,
  asked: Step,
): Promise<{ units?: number; [field: string]: unknown }> {
  switch (asked.step) {
    case "freeze": {
      const { ids, stuck, next } = await steps.freeze(asked);
      return { ids, stuck, next, units: ids.length + stuck.length };
    }
    case "take": {
      const { taken, stuck } = await steps.take(asked.schedules);
      return { taken, stuck, units: asked.schedules.length };
    }
    case "parts":
      return { parts: await steps.parts() };
    case "confirm":
      return { confirmed: await steps.confirm(asked.parts) };
    case "take-back":
      return { back: await steps.takeBack(asked.schedule) };
    case "close":
      return moveView(await steps.close());
    case "end":
      return moveView(await steps.end(asked));
  }
}
