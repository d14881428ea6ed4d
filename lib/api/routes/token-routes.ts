import * as z from "zod";
import { Refusal } from "../../refusal.ts";
import { isTokenId, type TokenPlace } from "../../token/read-tokens.ts";
import type { Issued } from "../../token/token-edits.ts";
import { isPrincipalName, tokenNameFault } from "../../token/token-name.ts";
import type { Operations } from "../operations/operations.ts";
import { readCursor, writeCursor } from "../request/cursor.ts";
import { pageQuery, pageSchema } from "../request/query.ts";
import { noQuery, type Route, readShape, route } from "../request/route.ts";
import {
  issuedSchema,
  newTokenShape,
  rotateShape,
  tokenExamples,
  tokenSchema,
  tokenView,
} from "../views/token-shape.ts";

const tag = "Tokens and audit";

/**
 * Whether a cursor may contain a name. Besides valid names these are names that Carillon gives, now
 * or in older versions without rules for names.
 */
const isName = (name: string) =>
  name.startsWith("first") || isPrincipalName(name) || tokenNameFault(name) === null;

/** The place of a token in a cursor, such as `5f0c7a54-…/billing`. */
function placeOf(text: string): TokenPlace | null {
  const [id = "", ...rest] = text.split("/");
  const name = rest.join("/");
  return isTokenId(id) && isName(name) ? { id, name } : null;
}

export function tokenRoutes({ tokens }: Pick<Operations, "tokens">): Route[] {
  return [...readRoutes(tokens), ...editRoutes(tokens)];
}

function readRoutes(tokens: Operations["tokens"]): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/tokens",
      scope: "admin",
      query: z.strictObject(pageQuery),
      doc: {
        summary: "List the tokens",
        description: "Ordered by name, without secrets. A token with a prefix sees tokens under it.",
        tag,
        answers: {
          200: {
            what: "A page of tokens.",
            schema: pageSchema(tokenSchema),
            example: { items: [tokenExamples.token] },
          },
        },
      },
      answer: async ({ query: { limit, cursor }, token: { prefix } }) => {
        const isPlace = (text: string) => placeOf(text) !== null;
        const after = cursor === undefined ? null : placeOf(readCursor(cursor, "tokens", isPlace));
        const { items, next } = await tokens.list({ prefix, after: after ?? undefined, limit });
        return {
          status: 200,
          body: {
            items: items.map(tokenView),
            ...(next === undefined ? {} : { cursor: writeCursor("tokens", `${next.id}/${next.name}`) }),
          },
        };
      },
    }),
    route({
      method: "GET",
      path: "/v1/tokens/{id}",
      scope: "admin",
      query: noQuery,
      doc: {
        summary: "Read a token",
        tag,
        parameters: { id },
        answers: { 200: { what: "The token.", schema: tokenSchema, example: tokenExamples.token } },
        problems: [404],
      },
      answer: async ({ parameter, token }) => {
        const asked = parameter("id");
        const read = await tokens.read(asked, token.prefix);
        if (read === null)
          throw new Refusal("missing", `There is no token ${JSON.stringify(asked.slice(0, 100))}.`);
        return { status: 200, body: tokenView(read) };
      },
    }),
  ];
}

const id = {
  what: "The token's id.",
  schema: z.uuid(),
  example: tokenExamples.token.id,
};

function editRoutes(tokens: Operations["tokens"]): Route[] {
  return [
    route({
      method: "POST",
      path: "/v1/tokens",
      scope: "admin",
      query: noQuery,
      doc: {
        summary: "Make a token",
        description:
          "The secret is only in this answer. A token cannot reach more keys, live longer or have a higher rate than the token that makes it (403).",
        tag,
        body: { schema: newTokenShape, example: tokenExamples.body },
        answers: {
          201: {
            what: "The token, with its secret.",
            schema: issuedSchema,
            example: tokenExamples.issued,
            headers: { location: "The path of the token." },
          },
        },
        problems: [409],
      },
      answer: async ({ body, token, caller }) => {
        const asked = readShape(newTokenShape, body(), "body");
        const issued = await tokens.create({ asked, by: token, caller });
        return {
          status: 201,
          body: issuedView(issued),
          headers: { location: `/v1/tokens/${issued.token.id}` },
        };
      },
    }),
    route({
      method: "POST",
      path: "/v1/tokens/{id}/rotate",
      scope: "admin",
      query: noQuery,
      doc: {
        summary: "Give a token a new secret",
        description: "The old secret stays valid for the overlap, so that callers can change to the new one.",
        tag,
        parameters: { id },
        body: { schema: rotateShape, optional: true, example: { overlap: "24h" } },
        answers: {
          200: {
            what: "The token, with its new secret.",
            schema: issuedSchema,
            example: tokenExamples.rotated,
          },
        },
        problems: [404, 409],
      },
      answer: async ({ parameter, optionalBody, token, caller }) => {
        const { overlap: overlapMs } = readShape(rotateShape, optionalBody(), "body");
        return {
          status: 200,
          body: issuedView(await tokens.rotate({ id: parameter("id"), overlapMs, by: token, caller })),
        };
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/tokens/{id}",
      scope: "admin",
      query: noQuery,
      doc: {
        summary: "Revoke a token",
        description:
          "The token is refused from then on. The last admin token that reaches every key and does not expire cannot be revoked (409).",
        tag,
        parameters: { id },
        answers: { 204: { what: "The token is revoked." } },
        problems: [404, 409],
      },
      answer: async ({ parameter, token, caller }) => {
        await tokens.remove({ id: parameter("id"), by: token, caller });
        return { status: 204 };
      },
    }),
  ];
}

function issuedView({ token, secret }: Issued) {
  return { ...tokenView(token), token: secret };
}
