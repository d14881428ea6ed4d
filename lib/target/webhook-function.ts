import type { LambdaClient } from "@aws-sdk/client-lambda";
import * as z from "zod";
import { callFunction } from "./invoke-function.ts";
import type { SendWebhook } from "./webhook-target.ts";

/** The sender may be of a newer release, whose answers have further members. */
const webhookAnswer = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("answered"),
    status: z.int(),
    retryAfterMs: z.number().nullable(),
    excerpt: z.string(),
  }),
  z.object({ kind: z.literal("refused"), error: z.string() }),
  z.object({ kind: z.literal("failed"), error: z.string() }),
]);

/** Sends through the one function that has access to the internet, and no other access. */
export function webhookFunction(lambda: LambdaClient, name: string): SendWebhook {
  return async (request, signal) =>
    webhookAnswer.parse(
      JSON.parse(await callFunction(lambda, { name, payload: JSON.stringify(request), signal })),
    );
}
