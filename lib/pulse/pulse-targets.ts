import * as z from "zod";
import type { Sql } from "../db/connect.ts";
import type { EventTarget, QueueTarget } from "../schedule/target-shape.ts";

export type PulseTarget = QueueTarget | EventTarget;

/** So many are remembered; they never change, and who has more is rare. */
const knownMax = 10_000;

/** What sending relies on. Not the shape by which targets are put: a newer release may know more of them. */
const sendable = z.union([
  z.looseObject({
    queue: z.string(),
    groupId: z.string().optional(),
    attributes: z.record(z.string(), z.string()).optional(),
    batch: z.int().min(1).optional(),
  }),
  z.looseObject({ event: z.looseObject({ bus: z.string(), source: z.string(), detailType: z.string() }) }),
]);

const isSendable = (target: unknown): target is PulseTarget => sendable.safeParse(target).success;

/** The targets of pulses by their numbers, each read once. One that is missing, or cannot be read, is left out. */
export function pulseTargets(sql: Sql): (ids: readonly number[]) => Promise<Map<number, PulseTarget>> {
  let known = new Map<number, PulseTarget>();
  return async (ids) => {
    const unknown = ids.filter((id) => !known.has(id));
    if (unknown.length > 0) {
      if (known.size + unknown.length > knownMax) known = new Map();
      const rows = await sql<{ id: number; target: unknown }[]>`
        select id, target from carillon.pulse_targets where id = any(${ids.filter((id) => !known.has(id))}::int[])`;
      for (const { id, target } of rows) if (isSendable(target)) known.set(id, target);
    }
    return known;
  };
}
