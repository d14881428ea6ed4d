import * as z from "zod";

// The arguments that several tools take. The API checks the values; these say what they mean.

export const key = z.string().describe("The key of the schedule, such as report:weekly.");

export const instant = z
  .string()
  .describe(
    "An instant: 2026-12-01T09:00:00Z, `2026-12-01 09:00 Europe/Berlin`, `now`, `in 3h` or `2d ago`.",
  );

export const paging = {
  limit: z.int().min(1).max(50).default(20).describe("The most items of one page."),
  cursor: z.string().optional().describe("The cursor of the page before, with the same other arguments."),
};

export const owners = {
  prefix: z.string().optional().describe("Only keys that begin with it."),
  group: z.string().optional().describe("Only schedules of the group."),
  tag: z.string().optional().describe("Only schedules with the tag."),
  target: z.string().optional().describe("A kind (queue, webhook …), or one target: queue/orders."),
};

/** How many coming runs an answer shows. */
export const runsShown = 5;
