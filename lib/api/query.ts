import * as z from "zod";

/** A whole number in a query, where everything is a string. */
export function wholeNumber({ min, max, byDefault }: { min: number; max: number; byDefault: number }) {
  const error = `takes a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, error)
    .transform(Number)
    .refine((number) => number >= min && number <= max, error)
    .default(byDefault);
}

/** What every list takes. */
export const pageQuery = {
  limit: wholeNumber({ min: 1, max: 100, byDefault: 50 }),
  cursor: z.string().max(2_000).optional(),
};
