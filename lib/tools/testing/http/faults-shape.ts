import * as z from "zod";
import { durationMs } from "../../../cadence/duration.ts";

const duration = z
  .string()
  .refine((text) => durationMs(text) !== null, "takes a duration such as 30s, 2h or 1d12h");
const instant = z.iso.datetime({ offset: true, error: "takes an instant such as 2027-03-28T00:00:00Z" });
const key = z.string().min(1);
const times = z.int().min(1).max(10_000);

/** The body of `POST /test/clock`. */
export const clockShape = z.union([z.strictObject({ advance: duration }), z.strictObject({ to: instant })], {
  error: "takes either advance, a duration such as 30d, or to, an instant such as 2027-03-28T00:00:00Z",
});

/** The body of `POST /test/reset`. */
export const resetShape = z.strictObject({ now: instant.optional() });

/** The body of `POST /test/faults`: the methods of the kit, by their names. */
export const faultsShape = z.strictObject({
  failNext: z.strictObject({ key, error: z.string().optional(), times: times.optional() }).optional(),
  handlerTakes: z.strictObject({ duration, key: key.optional() }).optional(),
  ticksMissing: duration.optional(),
  queueDuplicates: times.optional(),
  queueLoses: times.optional(),
  workerDies: times.optional(),
  databaseRestarts: z.literal(true).optional(),
});

/** The query of what a test reads. */
export const readShapeOfKey = z.strictObject({ key: key.optional() });
