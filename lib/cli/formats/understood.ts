import type * as z from "zod";
import { shapeFaults } from "../../schedule/shape/shape-faults.ts";
import type { Found } from "./found.ts";

type Understood<Shape> = { ok: true; value: Shape } | { ok: false; found: Found };

/** A record of a source in its shape, or a schedule that says why it has none. */
export function understood<Shape>(record: unknown, shape: z.ZodType<Shape>, from: string): Understood<Shape> {
  const shaped = shape.safeParse(record, { reportInput: true });
  if (shaped.success) return { ok: true, value: shaped.data };
  const faults = shapeFaults(shaped.error).map(({ path, message }) => `${path} ${message}`.trim());
  return { ok: false, found: { from, key: null, body: {}, differences: [], faults } };
}
