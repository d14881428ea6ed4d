import * as z from "zod";
import type { OwnToken } from "../../token/own-token.ts";
import type { Token } from "../../token/token.ts";
import { tokenExamples, tokenSchema, tokenView } from "./token-shape.ts";

const { rate: _, ...fields } = tokenSchema.shape;

export const ownTokenSchema = z
  .strictObject({
    ...fields,
    signIn: z
      .enum(["token", "iam", "jwt"])
      .describe("How the request was authenticated: by this token, or by the gateway."),
    holdOwner: z.string().describe("The owner of the holds that this caller sets."),
    rate: z
      .strictObject({
        limit: z.string(),
        used: z
          .int()
          .min(0)
          .describe("Requests of the bucket in use now, with those that functions have taken in advance."),
      })
      .nullable()
      .describe("The rate in force, the token's own or the deployment's. Null: no limit."),
    may: z
      .array(
        z.strictObject({
          area: z.string(),
          operations: z.array(z.strictObject({ operation: z.string(), what: z.string() })),
        }),
      )
      .describe(
        "What the token may do, by `operationId` and in words. Operations on keys are for keys with the token's prefix only.",
      ),
  })
  .meta({ id: "OwnToken", description: "The caller of this request, and what it may do." });

/** The operations of one area of the API that a token may use. */
export type Area = z.input<typeof ownTokenSchema>["may"][number];

export function ownTokenView(own: OwnToken, may: Area[]) {
  const { used, rate, ...read } = own;
  const { rate: limit, ...shown } = tokenView({ ...read, rate });
  return {
    ...shown,
    signIn: signInOf(own),
    holdOwner: own.name,
    rate: limit === null || used === null ? null : { limit, used },
    may,
  };
}

function signInOf({ name }: Pick<Token, "name">): "token" | "iam" | "jwt" {
  const [, gateway] = /^(iam|jwt):/.exec(name) ?? [];
  return gateway === "iam" || gateway === "jwt" ? gateway : "token";
}

const { rate: __, ...exampleToken } = tokenExamples.token;

export const ownTokenExample: z.input<typeof ownTokenSchema> = {
  ...exampleToken,
  scope: "write",
  signIn: "token",
  holdOwner: "billing",
  rate: { limit: "100/s", used: 3 },
  may: [
    {
      area: "Schedules",
      operations: [
        { operation: "putSchedule", what: "Create a schedule, or replace it" },
        { operation: "getSchedule", what: "Read a schedule" },
      ],
    },
  ],
};
