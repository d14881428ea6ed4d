import type { PatchAcceptance } from "../edit/schedule-edits.ts";
import { type PayloadTaker, refuseUnfitPayload } from "../job/read-payload.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { type AllowedTargets, refuseForbiddenChange, refuseForbiddenTarget } from "./allowed-targets.ts";
import { checkPatched } from "./handler-payload.ts";
import { refuseUnknownHandler } from "./known-handlers.ts";

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
}

export function acceptanceOf({ handlers, targets }: AcceptanceDeps): Acceptance {
  const names = handlers.map(({ name }) => name);
  return {
    body: (body) => {
      refuseUnknownHandler(names, body.target);
      refuseForbiddenTarget(targets, body.target);
      refuseUnfitPayload(handlers, body);
    },
    patch: (patch) => {
      if (typeof patch === "object" && patch !== null)
        refuseUnknownHandler(names, Reflect.get(patch, "target"));
    },
    patched: (body, before) => {
      refuseForbiddenChange(targets, body.target, before.target);
      return checkPatched(handlers, body, before);
    },
  };
}
