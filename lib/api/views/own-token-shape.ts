import * as z from "zod";
import { rateText } from "../../job/rate.ts";
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
        of: z
          .enum(["token", "maker", "prefix"])
          .describe(
            "Whose rate it is: the token's own, that of a token which made it, or that of all tokens of its prefix.",
          ),
        limit: z.string(),
        left: z
          .int()
          .describe(
            "Units left in the bucket now, without those that functions have taken in advance. Below 0 it is in debt.",
          ),
      })
      .nullable()
      .describe("The rate in force with the fewest units left. Null: no limit."),
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
  const { nearest } = own;
  const { rate: _ownRate, ...shown } = tokenView(own);
  return {
    ...shown,
    signIn: signInOf(own),
    holdOwner: own.name,
    rate: nearest === null ? null : { of: nearest.of, limit: rateText(nearest.rate), left: nearest.left },
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
  rate: { of: "token", limit: "100/s", left: 97 },
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
