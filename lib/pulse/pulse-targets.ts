import type { Sql } from "../db/connect.ts";
import type { EventTarget, QueueTarget } from "../schedule/shape/target-shape.ts";

export type PulseTarget = QueueTarget | EventTarget;

/** The most targets that are cached. They never change, and few installations have more. */
const knownMax = 10_000;

type Members = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value: unknown) => typeof value === "string";

/**
 * Checks only the fields that sending needs. The full shape of a put would refuse targets that a
 * newer release has stored.
 */
function isSendable(target: unknown): target is PulseTarget {
  if (!isObject(target)) return false;
  const { queue, event } = target;
  if (isObject(event)) return [event["bus"], event["source"], event["detailType"]].every(isText);
  return isText(queue) && isSendableToQueue(target);
}

function isSendableToQueue({ groupId = "", attributes = {}, batch = 1 }: Members): boolean {
  const areTexts = isObject(attributes) && Object.values(attributes).every(isText);
  return isText(groupId) && areTexts && typeof batch === "number" && batch >= 1;
}

/**
 * The targets of pulses by their numbers, each read once. A target that is missing or unreadable is
 * left out.
 */
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
