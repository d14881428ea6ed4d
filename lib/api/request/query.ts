import * as z from "zod";

/** A whole number in a query, in which every value is a string. */
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

/** Query parameters of every list. */
export const pageQuery = {
  limit: wholeNumber({ min: 1, max: 100, byDefault: 50 }),
  cursor: z
    .string()
    .max(2_000)
    .optional()
    .describe("The `cursor` of the page before. It is refused with other filters."),
};

/** Whether there is time between `from` and `to`, if both are given. */
export const isRange = ({ from, to }: { from?: Date | undefined; to?: Date | undefined }) =>
  from === undefined || to === undefined || from < to;

export const noRange = { path: ["to"], error: "must lie after `from`" };

/** The answer of every list. */
export function pageSchema(item: z.ZodType) {
  return z.strictObject({ items: z.array(item), cursor: cursorSchema });
}

export const cursorSchema = z
  .string()
  .optional()
  .describe("Present while there are more items: send it back as `cursor`.");
