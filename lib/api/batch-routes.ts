import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import type { Command, CommandResult } from "../command/apply-commands.ts";
import { notDone } from "../command/apply-commands.ts";
import type { Refused } from "../plan/operation.ts";
import { type Fault, Refusal } from "../refusal.ts";
import { memberPath } from "../schedule/shape-faults.ts";
import type { Answer } from "./answer.ts";
import { ownersRefused } from "./hold-owner.ts";
import type { Operations } from "./operations.ts";
import { problemDocument, problemSchema } from "./problem.ts";
import { refuseForeignKey } from "./reach.ts";
import { noQuery, type Route, readShape, route } from "./route.ts";

export const batchMax = 1_000;

const batchShape = z.strictObject({
  operations: z
    .array(z.unknown())
    .min(1)
    .max(batchMax)
    .describe(
      "Each an object with one verb: `put` or `patch` (a schedule with its key), `delete`, `pause` or `resume` (a key, or an object with it), `job` (what `POST /v1/jobs` takes); beside it maybe `ifMatch` (a version) or `ifNoneMatch`.",
    ),
  atomic: z.boolean().default(false).describe("All or nothing: where one is refused, none is done."),
});

const resultShape = z.strictObject({
  status: z.int().describe("As the same request would have been answered alone."),
  key: z.string().nullable().describe("Null where not even the key was understood."),
  id: z.string().optional(),
  version: z.int().optional(),
  job: z.string().optional().describe("Of `job`: the id of the job."),
  error: problemSchema.optional(),
});

const resultsShape = z.strictObject({
  results: z.array(resultShape).describe("One for each operation, in their order."),
});

export function batchRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "POST",
      path: "/v1/schedules:batch",
      scope: "write",
      query: noQuery,
      doc: {
        summary: "Do many operations at once",
        description: `Up to ${batchMax} operations in one transaction. Each is done as if it were alone, one after the other, and has a result of its own; with \`atomic\`, one that is refused leaves all undone.`,
        tag: "Batch and commands",
        body: {
          schema: batchShape,
          example: {
            operations: [
              {
                put: {
                  key: "report:7",
                  when: "every 1h",
                  target: { handler: "greet" },
                  payload: { name: "Ann" },
                },
              },
              { delete: "report:6" },
            ],
          },
        },
        answers: {
          200: {
            what: "What became of each.",
            schema: resultsShape,
            example: {
              results: [
                { status: 201, key: "report:7", id: "17", version: 1 },
                {
                  status: 404,
                  key: "report:6",
                  error: problemDocument("missing", { detail: "There is no schedule report:6." }),
                },
              ],
            },
          },
        },
        problems: [413, 415, 422],
      },
      answer: async ({ body, token, caller }) => {
        const { operations: inputs, atomic } = readShape(batchShape, body(), "body");
        const refuseOwner = await ownersRefused({ tokens: operations.tokens, token }, inputs);
        const commands = inputs.map(
          (input): Command => ({
            input,
            caller,
            newKey: () => `${token.prefix ?? ""}job:${uuidv7()}`,
            refuseKey: (key) => refuseForeignKey(token, key),
            refuseOwner,
          }),
        );
        const results = await operations.applyCommands(commands, { allOrNothing: atomic });
        if (atomic) refuseUndone(results);
        return answerOf(results);
      },
    }),
  ];
}

const statuses = { created: 201, changed: 200, unchanged: 200, deleted: 204 } as const;

/** So many faults one answer tells of; a thousand operations may hold a hundred each. */
const faultsMax = 1_000;

function answerOf(results: readonly CommandResult[]): Answer {
  let left = faultsMax;
  const views = results.map((result) => {
    if (result.change !== "refused") return resultView(result);
    const faults = result.refusal.faults.slice(0, Math.max(1, left));
    left -= faults.length;
    return refusedView(result.key, { ...result.refusal, faults });
  });
  return { status: 200, body: { results: views } };
}

function refusedView(key: string | null, { kind, message, faults }: Refused): z.output<typeof resultShape> {
  const error = problemDocument(kind, { detail: message, faults });
  return { status: error.status, key, error };
}

function resultView(result: Exclude<CommandResult, { change: "refused" }>): z.output<typeof resultShape> {
  if (result.change === "passed-over") throw new Error(`Nobody asked to pass over ${result.key}.`);
  const { key, id, version, change, job } = result;
  if (job === undefined) return { status: statuses[change], key, id, version };
  return { status: change === "unchanged" ? 200 : 202, key, id, version, job };
}

/** Tells of every operation that stood in the way of the others. */
function refuseUndone(results: readonly CommandResult[]): void {
  const faults = results.flatMap((result, index): Fault[] => {
    if (result.change !== "refused" || result.refusal === notDone) return [];
    const path = memberPath("operations", index);
    const { message, faults: own } = result.refusal;
    return own.length === 0
      ? [{ path, message }]
      : own.map((fault) => ({
          path: fault.path === "" ? path : `${path}.${fault.path}`,
          message: fault.message,
        }));
  });
  if (faults.length === 0) return;
  throw new Refusal(
    "impossible",
    "Nothing was done, because of what was refused.",
    faults.slice(0, faultsMax),
  );
}
