import type { Tx } from "../db/connect.ts";
import { attachDaysFor } from "../parcel/settle.ts";
import type { ShardState } from "./shard.ts";

const dayMs = 86_400_000;

/**
 * Attaches the days of these occurrences that may have no partition. A long pause may end with an
 * occurrence on a day whose partition was dropped, and after days without a tick the recent days
 * have no partition yet. The days from yesterday to the end of the near plan were attached by the
 * tick.
 */
export async function attachMissingDays(
  tx: Tx,
  occurrences: readonly { at: number }[],
  { now, nearUntil }: Pick<ShardState, "now" | "nearUntil">,
): Promise<void> {
  const yesterday = Math.floor(now.getTime() / dayMs) - 1;
  const days = [...new Set(occurrences.map(({ at }) => Math.floor(at / dayMs)))];
  const outside = days.filter((day) => day < yesterday || day * dayMs >= nearUntil.getTime());
  if (outside.length === 0) return;
  await attachDaysFor(
    tx,
    outside.map((day) => new Date(day * dayMs)),
  );
}
