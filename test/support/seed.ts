/**
 * The seed of everything random in this run, set by vitest.config.ts from CARILLON_SEED: the same
 * in each run of the gate.
 */
export const seedOfRun = Number(process.env["CARILLON_SEED"] ?? 1);
