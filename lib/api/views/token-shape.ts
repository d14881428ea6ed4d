import * as z from "zod";
import { durationMs } from "../../cadence/duration.ts";
import { parseRate, rateForm, rateText } from "../../job/rate.ts";
import { instantShape } from "../../schedule/shape/instant-shape.ts";
import { keyFault } from "../../schedule/shape/schedule-key.ts";
import { dayMs, durationShape } from "../../schedule/shape/timing-shape.ts";
import type { TokenRead } from "../../token/read-tokens.ts";
import { tokenNameFault } from "../../token/token-name.ts";
import { instantText } from "./instant-text.ts";

const nameShape = z
  .string()
  .superRefine((name, context) => {
    const message = tokenNameFault(name);
    if (message !== null) context.addIssue({ code: "custom", message });
  })
  .describe("The actor in the audit and the owner of holds that the token sets. Unique among tokens.");

/** Leaves room in the length of a key for the part that Carillon appends when it makes one. */
const prefixMax = 200;
const tooLong = `takes 1 to ${prefixMax} characters`;

/** The beginning of at least one valid key. */
export const prefixShape = z.string().superRefine((prefix, context) => {
  const message = prefix === "" || prefix.length > prefixMax ? tooLong : keyFault(`${prefix}x`);
  if (message !== null) context.addIssue({ code: "custom", message });
});

const rateShape = z.string().transform((text, context) => {
  const rate = parseRate(text);
  if (rate === null) context.addIssue({ code: "custom", message: `is written ${rateForm}` });
  return rate;
});

const scopeShape = z
  .enum(["read", "write", "admin"])
  .describe("`read` reads everything, `write` also changes schedules and jobs, `admin` also does the rest.");

export const newTokenShape = z.strictObject({
  name: nameShape,
  scope: scopeShape,
  prefix: prefixShape
    .nullable()
    .optional()
    .describe(
      "The token reaches keys with this prefix; null for every key. Default: the prefix of the token that makes it.",
    ),
  expiresAt: instantShape
    .nullable()
    .optional()
    .describe("When the token expires; null for never. Default: the expiry of the token that makes it."),
  rate: rateShape
    .nullable()
    .optional()
    .describe(
      `The rate of requests, written ${rateForm}; null for the deployment's rate. Default: the rate of the token that makes it.`,
    ),
});

const overlapByDefault = "24h";

export const rotateShape = z.strictObject({
  overlap: durationShape({ minMs: 0, maxMs: 30 * dayMs, range: "from 0s to 30d" })
    .default(overlapByDefault)
    .transform((text) => {
      const ms = durationMs(text);
      if (ms === null) throw new Error(`The overlap ${text} passed its shape but is not a duration.`);
      return ms;
    })
    .describe("How long the old secret stays valid; `0s` ends every older secret at once."),
});

export const tokenSchema = z
  .strictObject({
    id: z.uuid(),
    name: z.string(),
    scope: scopeShape,
    prefix: z.string().nullable(),
    rate: z.string().nullable(),
    createdAt: instantText,
    createdBy: z.string(),
    expiresAt: instantText.nullable(),
    lastUsedAt: instantText.nullable().describe("To about a minute; null before its first use."),
    rotatedAt: instantText.nullable(),
    earlierUntil: instantText
      .nullable()
      .describe("When an older secret of the token ends; null where there is none."),
  })
  .meta({ id: "Token", description: "A token, without its secret." });

export const issuedSchema = z
  .strictObject({
    ...tokenSchema.shape,
    token: z.string().describe("The secret to send after `Bearer`; shown only once."),
  })
  .meta({ id: "IssuedToken", description: "A token with its secret, which is shown only once." });

export function tokenView(read: TokenRead) {
  const { id, name, scope, prefix, rate, createdAt, createdBy, expiresAt } = read;
  const { lastUsedAt, rotatedAt, earlierUntil } = read;
  return {
    id,
    name,
    scope,
    prefix,
    rate: rate === null ? null : rateText(rate),
    createdAt,
    createdBy,
    expiresAt,
    lastUsedAt,
    rotatedAt,
    earlierUntil,
  };
}

const tokenExample = {
  id: "5f0c7a54-6f0e-4a57-9b4a-0d0c3c0f7a11",
  name: "billing",
  scope: "write",
  prefix: "billing:",
  rate: "100/s",
  createdAt: "2026-12-01T09:00:00.000Z",
  createdBy: "first",
  expiresAt: null,
  lastUsedAt: "2026-12-01T09:30:00.000Z",
  rotatedAt: null,
  earlierUntil: null,
};

export const tokenExamples = {
  body: { name: "billing", scope: "write", prefix: "billing:", rate: "100/s" },
  token: tokenExample,
  issued: { ...tokenExample, lastUsedAt: null, token: `carillon_${"0".repeat(43)}000000` },
  rotated: {
    ...tokenExample,
    rotatedAt: "2026-12-02T09:00:00.000Z",
    earlierUntil: "2026-12-03T09:00:00.000Z",
    token: `carillon_${"0".repeat(43)}000000`,
  },
};
