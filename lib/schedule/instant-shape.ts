import * as z from "zod";

/** Far enough for every plan, and within what JavaScript, JSON and Postgres all write the same way. */
const yearMin = 1970;
const yearMax = 2200;

/** An instant as RFC 3339 writes it, with its offset: `2026-12-01T09:00:00Z`, `2026-12-01T10:00:00+01:00`. */
export const instantShape = z.iso
  .datetime({ offset: true, error: "takes an instant such as `2026-12-01T09:00:00Z`" })
  .transform((text) => new Date(text))
  .refine((instant) => instant.getUTCFullYear() >= yearMin && instant.getUTCFullYear() <= yearMax, {
    error: `takes an instant from ${yearMin} to ${yearMax}`,
  })
  .meta({
    id: "InstantInput",
    description: `An instant as RFC 3339 writes it, with \`Z\` or an offset, from ${yearMin} to ${yearMax}.`,
  });
