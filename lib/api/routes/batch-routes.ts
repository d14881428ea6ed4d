import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import type { BatchResult, NotDone } from "../../command/apply-batch.ts";
import { notDone } from "../../command/apply-commands.ts";
import type { Command } from "../../command/command-shape.ts";
import { type Fault, Refusal, type Refused } from "../../refusal.ts";
import { memberPath } from "../../schedule/shape/shape-faults.ts";
import type { Operations } from "../operations/operations.ts";
import type { Answer } from "../request/answer.ts";
import { type ProblemKind, problemDocument, problemSchema, refusalDocument } from "../request/problem.ts";
import { retrySeconds, somethingFailed } from "../request/problem-answer.ts";
import { refuseForeignKey } from "../request/reach.ts";
import { noQuery, type Route, readShape, workRoute } from "../request/route.ts";
import { refuseOwner } from "./hold-owner.ts";

export const batchMax = 1_000;

const batchShape = z.strictObject({
  operations: z
    .array(z.unknown())
    .min(1)
    .max(batchMax)
    .describe(
      "Each an object with one verb: `put` or `patch` (a schedule with its key), `delete`, `pause` or `resume` (a key, or an object with it), `job` (what `POST /v1/jobs` takes); optionally with `ifMatch` (a version) or `ifNoneMatch`.",
    ),
  atomic: z.boolean().default(false).describe("All or nothing: if one operation is refused, none is done."),
});

const resultShape = z.strictObject({
  status: z
    .int()
    .describe(
      "The status that the operation would have had as a request of its own. 500 or 503: Carillon failed on it or did not try it, and it changed nothing.",
    ),
  key: z.string().nullable().describe("Null where the operation has no valid key."),
  id: z.string().optional(),
  version: z.int().optional(),
  job: z.string().optional().describe("For `job`: the id of the job."),
  retryAfter: z.int().optional().describe("With 503: the number of seconds to wait before a retry."),
  error: problemSchema.optional(),
});

const resultsShape = z.strictObject({
  results: z.array(resultShape).describe("One result per operation, in the order of the operations."),
});

export function batchRoutes(operations: Operations): Route[] {
  return [
    workRoute({
      method: "POST",
      path: "/v1/schedules:batch",
      scope: "write",
      query: noQuery,
      doc: {
        summary: "Do many operations at once",
        description: `Up to ${batchMax} operations in one transaction. Each operation is applied in order, as if sent alone, and has its own result; with \`atomic\`, one refused operation undoes all. An operation on which Carillon fails gets 500 or 503, and so do later operations on its key; the others are done. With \`atomic\` the whole batch fails. Sent again with the same \`Idempotency-Key\`, the batch retries only the operations with 500 or 503.`,
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
            what: "The result of each operation.",
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
      read: ({ body }) => readShape(batchShape, body(), "body"),
      kind: "bulk",
      cost: { per: "each operation", most: batchMax, of: (batch) => batch.operations.length },
      answer: async ({ operations: inputs, atomic }, { token, caller }) => {
        const commands = inputs.map(
          (input): Command => ({
            input,
            caller,
            newKey: () => `${token.prefix ?? ""}job:${uuidv7()}`,
            refuseKey: (key) => refuseForeignKey(token, key),
            refuseOwner: (verb, owner) => refuseOwner(token, verb, owner),
          }),
        );
        const results = await operations.applyBatch(commands, { allOrNothing: atomic });
        if (atomic) refuseUndone(results);
        return answerOf(results, caller.origin?.request);
      },
    }),
  ];
}

const statuses = { created: 201, changed: 200, unchanged: 200, deleted: 204 } as const;

/** The most faults in one answer; a thousand operations could have a hundred each. */
const faultsMax = 1_000;

function answerOf(results: readonly BatchResult[], requestId: string | undefined): Answer {
  let left = faultsMax;
  const views = results.map((result) => {
    if (result.change === "not-done") return notDoneView(result, requestId);
    if (result.change !== "refused") return resultView(result);
    const faults = result.refusal.faults.slice(0, Math.max(1, left));
    left -= faults.length;
    return refusedView(result.key, { ...result.refusal, faults });
  });
  return { status: 200, body: { results: views } };
}

function refusedView(key: string | null, refusal: Refused): z.output<typeof resultShape> {
  const error = refusalDocument(refusal);
  return { status: error.status, key, error };
}

const whyNotDone = {
  failed: { kind: "internal", detail: somethingFailed },
  busy: {
    kind: "unavailable",
    detail: "It waited too long for a lock, or a statement took too long; send it again.",
  },
  behind: {
    kind: "unavailable",
    detail: "It was not tried: an operation before it on its key was not done; send it again after that one.",
  },
  untried: {
    kind: "unavailable",
    detail: "It was not tried: the time of the batch was up, or too many others failed; send it again.",
  },
} as const satisfies Record<NotDone, { kind: ProblemKind; detail: string }>;

/** The result of an operation on which Carillon failed, or which it did not try. */
function notDoneView(
  { key, why }: Extract<BatchResult, { change: "not-done" }>,
  requestId: string | undefined,
): z.output<typeof resultShape> {
  const { kind, detail } = whyNotDone[why];
  const error = problemDocument(kind, { detail, ...(requestId === undefined ? {} : { requestId }) });
  return { status: error.status, key, ...(why === "failed" ? {} : { retryAfter: retrySeconds }), error };
}

function resultView(
  result: Exclude<BatchResult, { change: "refused" | "not-done" }>,
): z.output<typeof resultShape> {
  if (result.change === "passed-over")
    throw new Error(`The batch passed over ${result.key}, which only commands from the queue allow.`);
  const { key, id, version, change, job } = result;
  if (job === undefined) return { status: statuses[change], key, id, version };
  return { status: change === "unchanged" ? 200 : 202, key, id, version, job };
}

/** Refuses an atomic batch, with the faults of every refused operation. */
function refuseUndone(results: readonly BatchResult[]): void {
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
    "Nothing was done, because at least one operation was refused.",
    faults.slice(0, faultsMax),
  );
}
