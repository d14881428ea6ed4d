import { z } from "zod";
import golden from "../fixtures/golden-cron.json" with { type: "json" };

const instant = z.iso.datetime().transform((text) => Date.parse(text));

/**
 * Known results, refusals and zones, collected from the manuals and the bug reports of many
 * schedulers.
 */
export const { cases, rejects, zones } = z
  .object({
    cases: z.array(
      z.object({
        id: z.string(),
        kind: z.enum(["plain", "gap", "overlap"]),
        expr: z.string(),
        tz: z.string(),
        from: instant,
        expected: z.array(instant),
        note: z.string(),
      }),
    ),
    rejects: z.array(
      z.object({ expr: z.string().optional(), exprLength: z.string().optional(), why: z.string() }),
    ),
    zones: z.object({ accept: z.array(z.string()), reject: z.array(z.string()) }),
  })
  .parse(golden);
