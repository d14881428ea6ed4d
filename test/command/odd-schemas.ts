import * as z from "zod";
import { defineJob } from "../../lib/job/define-job.ts";

const handler = (name: string, payload: z.ZodType) => defineJob({ name, payload, run: async () => {} });

export const secret = "sk-live-of-somebody";

/** Handlers with schemas that misbehave, by name; `plain` accepts everything. */
export const oddHandlers = [
  handler("plain", z.unknown()),
  handler(
    "throws",
    z.unknown().transform(() => {
      throw new Error(secret);
    }),
  ),
  handler(
    "rejects",
    z.unknown().refine(async () => {
      await null;
      throw new Error(secret);
    }),
  ),
  handler(
    "says-odd",
    z.unknown().refine(() => false, { error: "half of \ud800 and NUL \u0000" }),
  ),
  handler(
    "unreadable",
    z.unknown().transform(() => {
      throw Object.defineProperty(new Error(secret), "name", {
        get: () => {
          throw new Error(secret);
        },
      });
    }),
  ),
  // The expression backtracks for longer than any test can wait.
  handler(
    "endless",
    z.unknown().refine(() => /^(a+)+$/.test(`${"a".repeat(80)}!`)),
  ),
];

export const oddNames = ["throws", "rejects", "says-odd", "unreadable", "endless"];
