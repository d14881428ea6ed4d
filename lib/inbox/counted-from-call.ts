import { parseWhen } from "../cadence/parse-when.ts";
import type { Operation } from "../plan/operation.ts";

/** A patch whose `when` is such as `in 3h` counts from its call, as a put's does; what is past by then runs at once. */
export function countedFromCall(operation: Operation, { at, now }: { at: Date; now: Date }): Operation {
  if (operation.kind !== "patch") return operation;
  const { patch, key } = operation;
  if (typeof patch !== "object" || patch === null || !("when" in patch) || typeof patch.when !== "string")
    return operation;
  const parsed = parseWhen(patch.when, { timezone: "UTC", now: at.getTime(), key });
  if (!parsed.ok || !parsed.relative || parsed.cadence.kind !== "once") return operation;
  const due = new Date(Math.max(parsed.cadence.at, now.getTime()));
  return { ...operation, patch: { ...patch, when: `at ${due.toISOString()}` } };
}
