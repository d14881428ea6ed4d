import type { Sql } from "../db/connect.ts";
import type { EventTarget, QueueTarget } from "../schedule/target-shape.ts";

export type PulseTarget = QueueTarget | EventTarget;

/** So many are remembered; they never change, and who has more is rare. */
const knownMax = 10_000;

/** The targets of pulses by their numbers, each read once. */
export function pulseTargets(sql: Sql): (ids: readonly number[]) => Promise<Map<number, PulseTarget>> {
  let known = new Map<number, PulseTarget>();
  return async (ids) => {
    const unknown = ids.filter((id) => !known.has(id));
    if (unknown.length > 0) {
      if (known.size + unknown.length > knownMax) known = new Map();
      const rows = await sql<{ id: number; target: PulseTarget }[]>`
        select id, target from carillon.pulse_targets where id = any(${ids.filter((id) => !known.has(id))}::int[])`;
      for (const { id, target } of rows) known.set(id, target);
    }
    return known;
  };
}
