import { type Asked, checkOutside } from "../edit/app-check.ts";
import { patchedBody } from "../edit/schedule-edits.ts";
import { Refusal } from "../refusal.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import type { Operation } from "./operation.ts";

/**
 * Checks what a transaction has met, and what the patches behind it on the same key would ask for: each would begin the transaction again.
 * Nothing is decided here: the transaction looks up the verdict on what its schedule is by then.
 */
export function checkAhead(met: readonly Asked[], operations: readonly Operation[]): void {
  const ofKeys = Map.groupBy(operations, ({ key }) => key);
  const places = new Map<object, number>(operations.map((operation, place) => [operation, place]));
  for (const asked of met) {
    const place = places.get(asked.edit) ?? operations.length;
    const own = ofKeys.get(operations[place]?.key ?? "") ?? [];
    const behind = own.filter((operation) => (places.get(operation) ?? 0) > place);
    let stands = checkOutside(asked) ? asked.body : asked.before;
    for (const operation of behind) stands = bodyBehind(stands, operation);
  }
}

function bodyBehind(before: ScheduleBody, operation: Operation): ScheduleBody {
  if (operation.kind === "put") return operation.body;
  if (operation.kind !== "patch") return before;
  try {
    const body = patchedBody(before, operation.patch);
    const check = operation.accept?.(body, before) ?? null;
    return check === null || checkOutside({ edit: operation, body, before, check }) ? body : before;
  } catch (error) {
    if (error instanceof Refusal) return before;
    throw error;
  }
}
