import * as z from "zod";

/**
 * Enough for every plan, and within the years that JavaScript, JSON and Postgres all write the same
 * way.
 */
const yearMin = 1970;
const yearMax = 2200;

/** An instant in RFC 3339 with its offset: `2026-12-01T09:00:00Z`, `2026-12-01T10:00:00+01:00`. */
export const instantShape = z.iso
  .datetime({ offset: true, error: "takes an instant such as `2026-12-01T09:00:00Z`" })
  .transform((text) => new Date(text))
  .refine((instant) => instant.getUTCFullYear() >= yearMin && instant.getUTCFullYear() <= yearMax, {
    error: `takes an instant from ${yearMin} to ${yearMax}`,
  })
  .meta({
    id: "InstantInput",
    // Without the lengths of months, which the format checks.
    pattern:
      "^(19[7-9][0-9]|2[01][0-9]{2}|2200)-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$",
    description: `An instant as RFC 3339 writes it, with \`Z\` or an offset, from ${yearMin} to ${yearMax}.`,
  });
