import { z } from "zod";

/** The stack. Only for this repository's own app; an app of your own makes its own stack. */
export const stackSettings = {
  /**
   * The stack's name. A second deployment in one account and region needs another name and another
   * metricsNamespace.
   */
  stackName: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]{0,127}$/, "it takes letters, digits and hyphens, and begins with a letter")
    .default("Carillon"),
};
