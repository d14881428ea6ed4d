import type { Tx } from "../db/connect.ts";
import { Refusal } from "../refusal.ts";
import { cadenceIds } from "../schedule/cadence-columns.ts";
import { resolveSpec } from "../schedule/resolve-spec.ts";
import { targetName } from "../schedule/target-name.ts";
import type { Spec } from "../schedule/write-schedule.ts";
import type { Known } from "./known.ts";
import type { ManyLocked } from "./lock-many.ts";
import type { Operation } from "./operation.ts";
import { cutOf } from "./shard.ts";

/**
 * What schedules share: cadences and targets. Who makes one that is new has others wait for it, so that everybody makes all cadences that
 * he will need first, then targets, then keys.
 */
export async function makeShared(tx: Tx, specs: readonly Spec[]): Promise<void> {
  if (specs.length < 2) return;
  await cadenceIds(tx, specs);
  const names = [...new Set(specs.map(({ body }) => targetName(body.target)))].sort();
  await tx`select carillon.target_named(n) from unnest(${names}::text[]) n`;
}

/** Those of operations that are decided only after others of their keys; none where that will be refused. */
export async function specsToCome(
  operations: readonly Operation[],
  { bodies, states }: Pick<ManyLocked, "bodies" | "states">,
  known: Known,
): Promise<Spec[]> {
  const specs: Spec[] = [];
  for (const operation of operations) {
    const body = bodies.get(operation);
    if (body === undefined) continue;
    try {
      specs.push(await resolveSpec(known.calendar, operation.key, body, cutOf(states), operation.countFrom));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }
  return specs;
}
