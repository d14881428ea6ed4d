import { z } from "zod";

/** The stack. This repository's own app makes it; in an app of one's own the stack is the app's, and these are not taken. */
export const stackSettings = {
  /** The stack's name; a second deployment in one account and region takes another, and another metricsNamespace. */
  stackName: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]{0,127}$/, "it takes letters, digits and hyphens, and begins with a letter")
    .default("Carillon"),
};
