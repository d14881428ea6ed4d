import * as z from "zod";

/** Schedules that a filter by prefix misses because they are in other installations. */
export const movedToSchema = z
  .array(
    z
      .strictObject({
        to: z.string().describe("The address of the other installation."),
        schedules: z.int(),
        more: z.boolean().describe("True where counting stopped at its limit."),
      })
      .meta({ id: "MovedTo", description: "Schedules of a prefix that have moved to another installation." }),
  )
  .optional()
  .describe(
    "Schedules of the filter's `prefix` that have moved to other installations (`carillon move`): among the first 10,000 that have left. The other parts of the filter do not narrow them. Absent where there are none.",
  );
