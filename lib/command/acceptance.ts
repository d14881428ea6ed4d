import type { BulkAction } from "../batch/bulk-operations.ts";
import type { PatchAcceptance } from "../edit/schedule-edits.ts";
import { type PayloadTaker, refuseUnfitPayload } from "../job/read-payload.ts";
import { Refusal } from "../refusal.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { type AllowedTargets, refuseForbiddenChange, refuseForbiddenTarget } from "./allowed-targets.ts";
import { checkPatched } from "./handler-payload.ts";

export interface AcceptanceDeps {
  /** The deployed handlers. */
  handlers: readonly PayloadTaker[];
  targets: AllowedTargets;
}

/**
 * The checks of this deployment, the same for every way in: a schedule that could not be delivered
 * from here is refused.
 */
export interface Acceptance {
  body(body: ScheduleBody): void;
  /** Checks a patch before it is merged. */
  patch(patch: unknown): void;
  patched: PatchAcceptance;
  /** Checks the patch of a bulk action, and adds the check of each patched schedule. */
  bulk<Action extends BulkAction>(action: Action): Action;
}

export function acceptanceOf({ handlers, targets }: AcceptanceDeps): Acceptance {
  const names = handlers.map(({ name }) => name);
  const patch = (asked: unknown) => {
    if (typeof asked === "object" && asked !== null)
      refuseUnknownHandler(names, Reflect.get(asked, "target"));
  };
  const patched: PatchAcceptance = (body, before) => {
    refuseForbiddenChange(targets, body.target, before.target);
    return checkPatched(handlers, body, before);
  };
  return {
    body: (body) => {
      refuseUnknownHandler(names, body.target);
      refuseForbiddenTarget(targets, body.target);
      refuseUnfitPayload(handlers, body);
    },
    patch,
    patched,
    bulk: (action) => {
      if (action.change.verb !== "patch") return action;
      patch(action.change.patch);
      return { ...action, change: { ...action.change, accept: patched } };
    },
  };
}

/**
 * Refuses a target with a handler that is not deployed: its jobs could only die. Takes a target or
 * a patch of one, which may lack the name.
 */
function refuseUnknownHandler(known: readonly string[], target: unknown): void {
  if (typeof target !== "object" || target === null || !("handler" in target)) return;
  const { handler } = target;
  if (typeof handler !== "string" || known.includes(handler)) return;
  throw new Refusal("impossible", "The target does not exist here.", [
    { path: "target.handler", message: `is not the name of a handler; the handlers are ${known.join(", ")}` },
  ]);
}
