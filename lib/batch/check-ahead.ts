import { type Asked, checkOutside } from "../edit/app-check.ts";
import { patchedBody } from "../edit/schedule-edits.ts";
import { Refusal } from "../refusal.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import type { Operation } from "./operation.ts";

/**
 * Checks the bodies that a transaction has met, and the bodies that later patches of the same key
 * would produce: each unchecked body would make the transaction begin again. This decides nothing:
 * the transaction uses the result for the body that the schedule has by then.
 */
export function checkAhead(met: readonly Asked[], operations: readonly Operation[]): void {
  const ofKeys = Map.groupBy(operations, ({ key }) => key);
  const places = new Map<object, number>(operations.map((operation, place) => [operation, place]));
  for (const asked of met) {
    const place = places.get(asked.edit) ?? operations.length;
    const own = ofKeys.get(operations[place]?.key ?? "") ?? [];
    const behind = own.filter((operation) => (places.get(operation) ?? 0) > place);
    let body = checkOutside(asked) ? asked.body : asked.before;
    for (const operation of behind) body = bodyBehind(body, operation);
  }
}

function bodyBehind(before: ScheduleBody, operation: Operation): ScheduleBody {
  if (operation.kind === "put") return operation.body;
  if (operation.kind !== "patch") return before;
  try {
    const body = patchedBody(before, operation.patch);
    const check = operation.accept?.(body, before, operation.key) ?? null;
    return check === null || checkOutside({ edit: operation, body, before, check }) ? body : before;
  } catch (error) {
    if (error instanceof Refusal) return before;
    throw error;
  }
}
