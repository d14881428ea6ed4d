import * as z from "zod";
import type { Brought } from "../../../move/move-steps.ts";
import { Refusal } from "../../../refusal.ts";
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

const everyKey = "A move from another installation";
const parameters = { id: idDoc };

/** Routes of the installation into which a prefix moves. `carillon move` calls them. */
export function arrivalRoutes({ moves }: Pick<Operations, "moves">): Route[] {
  return [beginRoute(moves), readRoute(moves), stepRoute(moves)];
}

const beginShape = z.strictObject({
  prefix: prefixShape.describe("The prefix of the move."),
  from: addressShape.describe("The address of the installation from which the schedules come."),
});

function beginRoute(moves: Operations["moves"]): Route {
  return route({
    method: "PUT",
    path: "/v1/arrivals/{id}",
    scope: "admin",
    everyKey,
    query: noQuery,
    doc: {
      summary: "Begin to take in a move from another installation",
      operation: "beginArrival",
      description: "`carillon move` sends it with the id of the move that the other installation has begun.",
      tag,
      parameters,
      body: { schema: beginShape, example: { prefix: moveExamples.in.prefix, from: moveExamples.in.peer } },
      answers: { 200: { what: "The move.", schema: moveSchema, example: moveExamples.in } },
      problems: [409],
    },
    answer: async ({ body, caller, parameter }) => {
      const { prefix, from } = readShape(beginShape, body(), "body");
      const id = newIdFrom(parameter("id"));
      return { status: 200, body: moveView(await moves.beginArrival({ id, prefix, peer: from, caller })) };
    },
  });
}

function newIdFrom(text: string): string {
  const id = idDoc.schema.safeParse(text);
  if (id.success) return text.toLowerCase();
  throw new Refusal("invalid", "The id of a move is a UUID.", [{ path: "id", message: "is not a UUID" }]);
}

const readSchema = moveSchema
  .extend({
    progress: z.strictObject({
      arrived: z.int().describe("Schedules that the move has brought here."),
      refused: z.int().describe("Schedules that the other installation has back."),
    }),
  })
  .meta({ id: "ArrivalRead", description: "A move into this installation, and its progress." });

function readRoute(moves: Operations["moves"]): Route {
  return route({
    method: "GET",
    path: "/v1/arrivals/{id}",
    scope: "admin",
    everyKey,
    cost: 5,
    query: noQuery,
    doc: {
      summary: "Read a move into this installation and its progress",
      description: "`GET /v1/moves` lists the moves into this installation too.",
      tag,
      parameters,
      answers: {
        200: {
          what: "The move.",
          schema: readSchema,
          example: { ...moveExamples.in, progress: { arrived: 4_080, refused: 0 } },
        },
      },
      problems: [404],
    },
    answer: async ({ parameter }) => {
      const { move, progress } = await moves.readArrival(moveIdFrom(parameter("id")));
      const { arrived, refused } = progress;
      return { status: 200, body: { ...moveView(move), progress: { arrived, refused } } };
    },
  });
}

const stepShape = z.discriminatedUnion("step", [
  z.strictObject({ step: z.literal("bring"), parts: z.array(partText).min(1).max(stepMax) }),
  z.strictObject({ step: z.literal("refuse"), schedule: scheduleNumber }),
  z.strictObject({ step: z.literal("end") }),
]);

type Step = z.output<typeof stepShape>;

const broughtSchema = partName
  .extend({
    became: z.enum(["arrived", "here", "refused", "impossible"]),
    refusal: z.string().optional(),
  })
  .meta({ id: "BroughtPart", description: "The result of a part that was brought." });

const stepAnswers = z.union([
  z.strictObject({
    brought: z
      .array(broughtSchema)
      .describe("Parts for which there was no time are left out: bring them again."),
  }),
  z.strictObject({ refused: z.boolean().describe("False if the schedule is here.") }),
  moveSchema,
]);

const cost: Counted<Step> = {
  per: "each part that is brought",
  most: stepMax,
  isReserve: true,
  of: (asked) => (asked.step === "bring" ? asked.parts.length : 1),
};

function stepRoute(moves: Operations["moves"]): Route {
  return workRoute({
    method: "POST",
    path: "/v1/arrivals/{id}/steps",
    scope: "admin",
    everyKey,
    query: noQuery,
    doc: {
      summary: "Carry out one step of a move into this installation",
      operation: "stepArrival",
      description:
        "The protocol between `carillon move` and the installation that takes the schedules in: use the command. Each step may be repeated.",
      tag,
      parameters,
      body: { schema: stepShape, example: { step: "refuse", schedule: "1743" } },
      answers: {
        200: { what: "The result of the step.", schema: stepAnswers, example: { refused: true } },
      },
      problems: [404],
    },
    kind: "bulk",
    cost,
    read: ({ body }) => readShape(stepShape, body(), "body"),
    answer: async (asked, { parameter, caller }) => {
      const steps = moves.destination(moveIdFrom(parameter("id")), caller);
      switch (asked.step) {
        case "bring": {
          const brought = await steps.bring(asked.parts);
          return { status: 200, body: { brought: brought.map(broughtView) }, units: brought.length };
        }
        case "refuse":
          return { status: 200, body: { refused: await steps.refuse(asked.schedule) }, units: 1 };
        case "end":
          return { status: 200, body: moveView(await steps.end()), units: 1 };
      }
    },
  });
}

function broughtView({ id, part, became, refusal }: Brought) {
  return { id, part, became, ...(refusal === undefined ? {} : { refusal }) };
}
