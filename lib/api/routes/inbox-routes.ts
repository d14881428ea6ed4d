import * as z from "zod";
import {
  type RefusedCommand,
  readRefusedPlace,
  refusedKeptDays,
  refusedPlaceText,
} from "../../inbox/refusals.ts";
import { Refusal } from "../../refusal.ts";
import { keyFault } from "../../schedule/shape/schedule-key.ts";
import type { Operations } from "../operations/operations.ts";
import { readCursor, writeCursor } from "../request/cursor.ts";
import { pageQuery, pageSchema } from "../request/query.ts";
import { narrowed, reaches } from "../request/reach.ts";
import { noQuery, type Route, route } from "../request/route.ts";
import type { RouteDoc } from "../request/route-doc.ts";
import { instantText } from "../views/instant-text.ts";

const appliedSchema = z.strictObject({
  applied: z.int().describe("Commands that were applied."),
  refused: z.int().describe("Commands that could not be applied; `GET /v1/inbox/errors` has the reasons."),
  failed: z
    .int()
    .describe(
      "Commands on which Carillon failed; they stay in the inbox and are retried with growing pauses, up to an hour.",
    ),
  more: z.boolean().describe("True where commands are left: send the request again."),
});

const applyDoc: RouteDoc = {
  summary: "Apply the commands in the SQL inbox",
  operation: "applyInbox",
  description:
    "Applies the committed commands of `carillon.put_schedule` and the other SQL functions at once, instead of leaving them to the next tick. When it answers, every command committed before the request is applied, unless `more` is true.",
  tag: "Batch and commands",
  answers: {
    200: {
      what: "The numbers of commands applied, refused and left.",
      schema: appliedSchema,
      example: { applied: 12, refused: 1, failed: 0, more: false },
    },
  },
};

const errorSchema = z.strictObject({
  id: z.string().describe("The number that the call in SQL returned."),
  at: instantText.describe("When the function was called."),
  refusedAt: instantText,
  caller: z.string().describe("The login role that called the function."),
  key: z.string().nullable(),
  command: z
    .unknown()
    .describe(
      "The command as written, with credentials hidden; only the key of a command that is nested too deeply. Lists omit payloads, and give null where the command is still too long.",
    ),
  problem: z.string(),
  errors: z.array(z.strictObject({ path: z.string(), message: z.string() })),
});

const errorsQuery = z.strictObject({
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

const errorExample = {
  id: "4711",
  at: "2026-12-01T09:00:00.000Z",
  refusedAt: "2026-12-01T09:00:41.000Z",
  caller: "shop",
  key: "order:1234:unshipped",
  command: { put: { key: "order:1234:unshipped", when: "in 3 h ours", target: { queue: "orders" } } },
  problem: "The schedule is not understood.",
  errors: [{ path: "put.when", message: "is not understood" }],
};

const errorDoc: RouteDoc = {
  summary: "Read a command that the SQL inbox refused",
  operation: "getInboxError",
  tag: "Batch and commands",
  answers: {
    200: {
      what: "The command, and the reason why it was not applied.",
      schema: errorSchema,
      example: errorExample,
    },
  },
  problems: [404],
};

const forgetDoc: RouteDoc = {
  summary: "Forget a command that the SQL inbox refused",
  operation: "deleteInboxError",
  description: "It leaves the list and is not applied.",
  tag: "Batch and commands",
  answers: { 204: { what: "The command is forgotten." } },
  problems: [404],
};

const errorsDoc: RouteDoc = {
  summary: "List commands that the SQL inbox refused",
  operation: "listInboxErrors",
  description: `Commands that could not be applied, newest first, for ${refusedKeptDays} days. A page may be shorter than \`limit\` and still have a cursor. A token with a prefix sees those of its own keys.`,
  tag: "Batch and commands",
  answers: {
    200: {
      what: "A page of refused commands.",
      schema: pageSchema(errorSchema),
      example: { items: [errorExample] },
    },
  },
};

/** Routes of the commands that callers write in SQL. */
export function inboxRoutes({ inbox }: Pick<Operations, "inbox">): Route[] {
  return [
    route({
      method: "POST",
      path: "/v1/inbox:apply",
      scope: "write",
      everyKey: "Applying the inbox",
      query: noQuery,
      doc: applyDoc,
      kind: "bulk",
      cost: 10,
      answer: async () => {
        const { applied, refused, failed, more } = await inbox.apply();
        return { status: 200, body: { applied, refused, failed, more } };
      },
    }),
    route({
      method: "GET",
      path: "/v1/inbox/errors",
      scope: "admin",
      query: errorsQuery,
      doc: errorsDoc,
      answer: async ({ query: { limit, cursor, prefix: asked }, token }) => {
        const within = narrowed(token, asked);
        if (within === null) return { status: 200, body: { items: [] } };
        const before = cursor === undefined ? undefined : readPlace(cursor);
        const { items, next } = await inbox.listRefused({ ...within, before, limit });
        return {
          status: 200,
          body: {
            items: items.map(errorView),
            ...(next === undefined ? {} : { cursor: writeCursor("inbox-errors", refusedPlaceText(next)) }),
          },
        };
      },
    }),
    route({
      method: "GET",
      path: "/v1/inbox/errors/{id}",
      scope: "admin",
      query: noQuery,
      doc: errorDoc,
      answer: async ({ parameter, token }) => {
        const found = await reachable(inbox, parameter("id"), token);
        return { status: 200, body: errorView(found) };
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/inbox/errors/{id}",
      scope: "admin",
      query: noQuery,
      doc: forgetDoc,
      answer: async ({ parameter, token }) => {
        const { id } = await reachable(inbox, parameter("id"), token);
        if (!(await inbox.removeRefused(id))) throw noSuch(id);
        return { status: 204 };
      },
    }),
  ];
}

/** A command that the token does not reach is treated as missing. */
async function reachable(
  inbox: Operations["inbox"],
  id: string,
  token: Parameters<typeof reaches>[0],
): Promise<RefusedCommand> {
  const found = isId(id) ? await inbox.readRefused(id) : null;
  if (found === null || !reaches(token, found.key)) throw noSuch(id);
  return found;
}

function noSuch(id: string): Refusal {
  return new Refusal("missing", `The inbox has no error ${JSON.stringify(id.slice(0, 100))}.`);
}

const isId = (text: string) => /^[1-9]\d{0,17}$/.test(text);

function readPlace(cursor: string) {
  const text = readCursor(cursor, "inbox-errors", (place) => readRefusedPlace(place) !== null);
  return readRefusedPlace(text) ?? undefined;
}

function errorView({ id, at, refusedAt, caller, key, command, problem, faults }: RefusedCommand) {
  return { id, at, refusedAt, caller, key, command, problem, errors: faults };
}
