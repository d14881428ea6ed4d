import { Refusal } from "../refusal.ts";

/**
 * Refuses a target with a handler that is not deployed: its jobs could only die. Takes a target or
 * a patch of one, which may lack the name.
 */
export function refuseUnknownHandler(known: readonly string[], target: unknown): void {
  if (typeof target !== "object" || target === null || !("handler" in target)) return;
  const { handler } = target;
  if (typeof handler !== "string" || known.includes(handler)) return;
  throw new Refusal("impossible", "The target does not exist here.", [
    { path: "target.handler", message: `is not the name of a handler; the handlers are ${known.join(", ")}` },
  ]);
}
