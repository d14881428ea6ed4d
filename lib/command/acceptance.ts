import * as z from "zod";
import type { BulkAction } from "../batch/bulk-operations.ts";
import type { PatchAcceptance } from "../edit/schedule-edits.ts";
import { type PayloadTaker, refuseUnfitPayload } from "../job/read-payload.ts";
import { Refusal } from "../refusal.ts";
import { type Besides, refusalsOf, together } from "../schedule/shape/faults-together.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { payloadShape, withWhen } from "../schedule/shape/schedule-shape.ts";
import { targetShape } from "../schedule/shape/target-shape.ts";
import { type AllowedTargets, refuseForbiddenChange, refuseForbiddenTarget } from "./allowed-targets.ts";
import { checkPatched } from "./handler-payload.ts";
import { refusePatchShape } from "./schedule-patch-shape.ts";

export interface AcceptanceDeps {
  /** The deployed handlers. */
  handlers: readonly PayloadTaker[];
  /** Thrown where a handler is named: the module of the handlers could not be loaded. */
  handlersFault?: Error | undefined;
  targets: AllowedTargets;
}

/**
 * The checks of this deployment, the same for every way in: a schedule that could not be delivered
 * from here is refused.
 */
export interface Acceptance {
  body(body: ScheduleBody, key: string): void;
  /** The refusals of a body as it was sent, of which other parts are not understood. */
  besides: Besides;
  /** Checks a patch before it is merged. */
  patch(patch: unknown): void;
  patched: PatchAcceptance;
  /** Checks the patch of a bulk action, and adds the check of each patched schedule. */
  bulk<Action extends BulkAction>(action: Action): Action;
}

export function acceptanceOf({ handlers, handlersFault, targets }: AcceptanceDeps): Acceptance {
  const names = handlers.map(({ name }) => name);
  const refuseHandler = (target: unknown) => refuseUnknownHandler(names, handlersFault, target);
  const refuseTarget = (sent: unknown) => {
    const target = targetShape.safeParse(sent);
    if (target.success) refuseForbiddenTarget(targets, target.data, null);
  };
  const refusePayload = (sent: unknown, sentPayload: unknown) => {
    const named = z.looseObject({ handler: z.string() }).safeParse(sent);
    const payload = payloadShape.safeParse(sentPayload);
    if (!named.success || !payload.success) return;
    refuseUnfitPayload(handlers, { target: { handler: named.data.handler }, payload: payload.data });
  };
  const patch = (asked: unknown) => {
    const refusals = refusalsOf(() => refuseHandler(sentShape.parse(asked).target));
    if (refusals.length > 0) throw together([...refusalsOf(() => refusePatchShape(asked)), ...refusals]);
  };
  const patched: PatchAcceptance = (body, before, key) => {
    refuseForbiddenChange(targets, { target: body.target, before: before.target, key });
    return checkPatched(handlers, body, before);
  };
  return {
    body: (body, key) => {
      const refusals = refusalsOf(
        () => refuseHandler(body.target),
        () => refuseForbiddenTarget(targets, body.target, key),
        () => refuseUnfitPayload(handlers, body),
      );
      if (refusals.length > 0) throw withWhen(refusals, body);
    },
    besides: (input) => {
      const { target, payload } = sentShape.parse(input);
      return refusalsOf(
        () => refuseHandler(target),
        () => refuseTarget(target),
        () => refusePayload(target, payload),
      );
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

/** The parts of a body, or of a patch, that are checked here, as they were sent. */
const sentShape = z.object({ target: z.unknown(), payload: z.unknown() }).partial().catch({});

/**
 * Refuses a target with a handler that is not deployed: its jobs could only die. Takes a target or
 * a patch of one, which may lack the name.
 */
function refuseUnknownHandler(known: readonly string[], fault: Error | undefined, target: unknown): void {
  if (typeof target !== "object" || target === null || !("handler" in target)) return;
  const { handler } = target;
  if (typeof handler !== "string" || known.includes(handler)) return;
  if (fault !== undefined) throw fault;
  throw new Refusal("impossible", "The target does not exist here.", [
    { path: "target.handler", message: `is not the name of a handler; ${namesText(known)}` },
  ]);
}

const namesText = (known: readonly string[]): string =>
  known.length === 0 ? "there is no handler here" : `the handlers are ${known.join(", ")}`;
