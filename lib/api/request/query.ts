import * as z from "zod";

/** A whole number in a query, where everything is a string. */
export function wholeNumber({ min, max, byDefault }: { min: number; max: number; byDefault: number }) {
  const error = `takes a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, error)
    .transform(Number)
    .refine((number) => number >= min && number <= max, error)
    .default(byDefault)
    .meta({ insteadOf: { type: "integer", minimum: min, maximum: max, default: byDefault } });
}

/** What every list takes. */
export const pageQuery = {
  limit: wholeNumber({ min: 1, max: 100, byDefault: 50 }),
  cursor: z
    .string()
    .max(2_000)
    .optional()
    .describe("Where the page before ended: the `cursor` of its answer. With other filters it is refused."),
};

/** What every list answers with. */
export function pageSchema(item: z.ZodType) {
  return z.strictObject({ items: z.array(item), cursor: cursorSchema });
}

export const cursorSchema = z
  .string()
  .optional()
  .describe("Stands there while there is more: send it back as `cursor`.");
