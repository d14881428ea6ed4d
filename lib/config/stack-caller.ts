import * as z from "zod";

/**
 * The member of a request's context that names the stack for which it is made. API Gateway writes
 * the context of its own events and never this member, so only a direct invocation of the API's
 * function has it.
 */
export const stackContext = z.object({
  carillonStack: z.object({
    name: z.string().regex(/^[A-Za-z][A-Za-z0-9-]{0,127}$/),
    account: z.string().regex(/^\d{12}$/),
  }),
});

export type StackCaller = z.output<typeof stackContext>["carillonStack"];
