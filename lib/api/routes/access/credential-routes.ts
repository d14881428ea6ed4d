import * as z from "zod";
import type { CredentialKey } from "../../../sealing/credential-keys.ts";
import type { PassPlace } from "../../../sealing/seal-again.ts";
import type { Operations } from "../../operations/operations.ts";
import { readCursor, writeCursor } from "../../request/cursor.ts";
import { cursorSchema, pageQuery } from "../../request/query.ts";
import { noQuery, type Route, route } from "../../request/route.ts";
import { instantText } from "../../views/instant-text.ts";

const tag = "Tokens and audit";
const everyKey = "The keys of credentials";

const keySchema = z
  .strictObject({
    id: z.int(),
    madeAt: instantText,
    madeBy: z.string(),
    sealedAt: instantText.nullable().describe("When a credential of an older key was last sealed with it."),
    current: z.boolean().describe("Whether it seals new credentials."),
  })
  .meta({ id: "CredentialKey" });

const keyExample = {
  id: 2,
  madeAt: "2026-12-01T09:00:00.000Z",
  madeBy: "ann",
  sealedAt: null,
  current: true,
};

const stepSchema = z.strictObject({
  looked: z.int().describe("Versions with a webhook that were looked at."),
  sealed: z.int().describe("Credentials that the current key seals now."),
  unopened: z
    .array(z.strictObject({ key: z.string(), version: z.int() }))
    .describe("Versions with a credential that no key opens: it has to be sent again."),
  removed: z
    .array(z.int())
    .describe("Older keys that were deleted, because a whole pass found none of their credentials."),
  cursor: cursorSchema,
});

/** Routes of the keys that seal the credentials of webhooks. */
export function credentialRoutes({ credentials }: Pick<Operations, "credentials">): Route[] {
  return [...keyRoutes(credentials), sealAgainRoute(credentials)];
}

function keyRoutes(credentials: Operations["credentials"]): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/credential-keys",
      scope: "admin",
      everyKey,
      query: noQuery,
      doc: {
        summary: "List the keys that seal credentials of webhooks",
        description: "The newest first, without any part of the keys themselves.",
        operation: "listCredentialKeys",
        tag,
        answers: {
          200: {
            what: "The keys.",
            schema: z.strictObject({ items: z.array(keySchema) }),
            example: { items: [keyExample] },
          },
        },
      },
      answer: async () => ({
        status: 200,
        body: { items: (await credentials.list()).map(keyView) },
      }),
    }),
    route({
      method: "POST",
      path: "/v1/credential-keys",
      scope: "admin",
      everyKey,
      query: noQuery,
      doc: {
        summary: "Make a new key for credentials of webhooks",
        description:
          "It seals from now on. Stored credentials stay sealed with the older keys until `sealCredentialsAgain` reaches them.",
        operation: "makeCredentialKey",
        tag,
        answers: { 201: { what: "The new key.", schema: keySchema, example: keyExample } },
        problems: [422],
      },
      answer: async ({ caller }) => ({ status: 201, body: keyView(await credentials.make(caller)) }),
    }),
  ];
}

function sealAgainRoute(credentials: Operations["credentials"]): Route {
  return route({
    method: "POST",
    path: "/v1/credential-keys/seal-again",
    scope: "admin",
    everyKey,
    query: z.strictObject({ cursor: pageQuery.cursor }),
    doc: {
      summary: "Seal stored credentials with the current key",
      description:
        "One step of a pass over all versions: up to 200 of them. Credentials of before they were sealed at all are sealed too. When a whole pass finds nothing to do, and ten minutes have passed since the last one that did, the older keys are deleted.",
      operation: "sealCredentialsAgain",
      tag,
      answers: {
        200: {
          what: "What the step did.",
          schema: stepSchema,
          example: { looked: 200, sealed: 310, unopened: [], removed: [], cursor: "WyJ…" },
        },
      },
      problems: [422],
    },
    kind: "bulk",
    cost: 20,
    answer: async ({ query: { cursor } }) => {
      const from = cursor === undefined ? null : placeIn(readCursor(cursor, "credentials", isPlace));
      const { looked, sealed, unopened, removed, next } = await credentials.sealAgain(from);
      const place = next === null ? {} : { cursor: writeCursor("credentials", textOf(next)) };
      return { status: 200, body: { looked, sealed, unopened, removed, ...place } };
    },
  });
}

const placeForm = /^(0|[1-9]\d{0,17})\.(0|[1-9]\d{0,8})\.([01])$/;
const isPlace = (text: string) => placeForm.test(text);
const textOf = ({ scheduleId, version, hasFound }: PassPlace) =>
  `${scheduleId}.${version}.${hasFound ? 1 : 0}`;

function placeIn(text: string): PassPlace {
  const [scheduleId = "0", version = "0", hasFound] = text.split(".");
  return { scheduleId, version: Number(version), hasFound: hasFound === "1" };
}

function keyView({ id, madeAt, madeBy, sealedAt, current }: CredentialKey) {
  return {
    id,
    madeAt: madeAt.toISOString(),
    madeBy,
    sealedAt: sealedAt?.toISOString() ?? null,
    current,
  };
}
