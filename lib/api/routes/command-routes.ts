import * as z from "zod";
import { type DeadCommandRead, isBeyondQueue } from "../../ingest/dead-commands.ts";
import { Refusal } from "../../refusal.ts";
import { keyFault } from "../../schedule/shape/schedule-key.ts";
import type { Operations } from "../operations/operations.ts";
import { readCursor, writeCursor } from "../request/cursor.ts";
import { problemDocument, problemSchema } from "../request/problem.ts";
import { pageQuery, pageSchema } from "../request/query.ts";
import { narrowed, reaches, refuseForeignKey } from "../request/reach.ts";
import { noQuery, type Route, route } from "../request/route.ts";
import { deadView } from "../views/command-view.ts";
import { instantText } from "../views/instant-text.ts";

const deadSchema = z.strictObject({
  id: z.string(),
  messageId: z.string().describe("The id of the queue message that contained the command."),
  place: z.int().describe("The command's position in its message, from 0."),
  commandId: z.string().nullable().describe("The command's id; null where the id could not be read."),
  at: instantText.nullable().describe("The command's own time."),
  key: z.string().nullable(),
  queuePrefix: z
    .string()
    .nullable()
    .describe(
      "The prefix of the keys that its queue reaches; null for all keys. A command for another key is shown only to tokens that reach every key, and cannot be retried.",
    ),
  refusedAt: instantText,
  error: problemSchema.describe("Why it was not applied."),
  command: z
    .unknown()
    .describe(
      "The command as received, with credentials hidden. Lists omit payloads, and give null where the command is still too long. Also null where the command could not be stored.",
    ),
});

const retriedSchema = z.strictObject({
  key: z.string(),
  change: z.enum(["created", "changed", "unchanged", "deleted", "passed-over"]),
});

const example = {
  id: "17",
  messageId: "0c5d5e3b-7d0a-4f6e-9a59-0d5b0d7d3c11",
  place: 0,
  commandId: "evt-81",
  at: "2026-12-01T09:00:00.000Z",
  key: "order:1234:unshipped",
  queuePrefix: null,
  refusedAt: "2026-12-01T09:00:02.000Z",
  error: problemDocument("invalid", {
    detail: "The schedule is not understood.",
    faults: [{ path: "put.when", message: "is required" }],
  }),
  command: { id: "evt-81", put: { key: "order:1234:unshipped", target: { queue: "orders" } } },
};

const tag = "Batch and commands";
const isId = (text: string) => /^[1-9]\d{0,17}$/.test(text);

const query = z.strictObject({
  ...pageQuery,
  prefix: z
    .string()
    .max(255)
    .refine(
      (prefix) => prefix === "" || keyFault(`${prefix}x`) === null,
      "must be the beginning of a valid key",
    )
    .optional()
    .describe("The beginning of the keys."),
});

type Commands = Operations["commands"];

export function commandRoutes({ commands }: Pick<Operations, "commands">): Route[] {
  return [...readRoutes(commands), ...endRoutes(commands)];
}

function readRoutes(commands: Commands): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/commands/dead",
      scope: "admin",
      query,
      doc: {
        summary: "List dead commands",
        operation: "listDeadCommands",
        description:
          "Commands that came through the queue and were not applied, newest first, with the reason. A token with a prefix sees those of its keys, unless their queue does not reach the key.",
        tag,
        answers: {
          200: {
            what: "A page of dead commands.",
            schema: pageSchema(deadSchema),
            example: { items: [example] },
          },
        },
      },
      answer: async ({ query: { limit, cursor, prefix: asked }, token }) => {
        const within = narrowed(token, asked);
        if (within === null) return { status: 200, body: { items: [] } };
        const before = cursor === undefined ? undefined : readCursor(cursor, "dead-commands", isId);
        const { items, next } = await commands.list({
          ...within,
          isForTeam: token.prefix !== null,
          limit,
          before,
        });
        const more = next === undefined ? {} : { cursor: writeCursor("dead-commands", next) };
        return { status: 200, body: { items: items.map((dead) => deadView(dead, "list")), ...more } };
      },
    }),
    route({
      method: "GET",
      path: "/v1/commands/dead/{id}",
      scope: "admin",
      query: noQuery,
      doc: {
        summary: "Read a dead command",
        operation: "getDeadCommand",
        tag,
        answers: {
          200: { what: "The command, and the reason why it was not applied.", schema: deadSchema, example },
        },
        problems: [404],
      },
      answer: async ({ parameter, token }) => {
        const dead = await found(commands, parameter("id"), token);
        return { status: 200, body: deadView(dead, "alone") };
      },
    }),
  ];
}

function endRoutes(commands: Commands): Route[] {
  return [
    route({
      method: "POST",
      path: "/v1/commands/dead/{id}/retry",
      scope: "admin",
      query: noQuery,
      doc: {
        summary: "Retry a dead command",
        operation: "retryDeadCommand",
        description:
          "Retries the command with its own time: where a newer command for its key was applied since, it is passed over. A command that is applied or passed over leaves the list. A command that is refused again stays, and the answer is the problem. The `queuePrefix` binds the retry of every caller.",
        tag,
        answers: {
          200: {
            what: "The result of the command.",
            schema: retriedSchema,
            example: { key: "order:1234:unshipped", change: "created" },
          },
        },
        problems: [404, 409, 412, 422],
      },
      answer: async ({ parameter, token, caller }) => {
        const { id } = await found(commands, parameter("id"), token);
        const refuseKey = (key: string) => refuseForeignKey(token, key);
        const retried = await commands.retry({ id, caller, refuseKey });
        if (retried === null) throw noSuch(id);
        return { status: 200, body: { key: retried.key, change: retried.became } };
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/commands/dead/{id}",
      scope: "admin",
      query: noQuery,
      doc: {
        summary: "Forget a dead command",
        operation: "deleteDeadCommand",
        description: "Its message stays in the dead-letter queue.",
        tag,
        answers: { 204: { what: "The command is forgotten." } },
        problems: [404],
      },
      answer: async ({ parameter, token }) => {
        const { id } = await found(commands, parameter("id"), token);
        if (!(await commands.remove(id))) throw noSuch(id);
        return { status: 204 };
      },
    }),
  ];
}

/**
 * A command that the token does not reach is treated as missing. A key that its queue does not reach
 * counts as no readable key.
 */
async function found(
  commands: Commands,
  id: string,
  token: Parameters<typeof reaches>[0],
): Promise<DeadCommandRead> {
  const dead = isId(id) ? await commands.read(id) : null;
  if (dead === null || !reaches(token, isBeyondQueue(dead) ? null : dead.key)) throw noSuch(id);
  return dead;
}

function noSuch(id: string): Refusal {
  return new Refusal("missing", `There is no dead command ${JSON.stringify(id.slice(0, 100))}.`);
}
