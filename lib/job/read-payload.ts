import type * as z from "zod";
import { errorText } from "../log/error-text.ts";
import { type Fault, Refusal } from "../refusal.ts";
import { shapeFaults } from "../schedule/shape-faults.ts";

/** A payload as its handler's schema makes it, or what in it the schema does not take, each with its path below `payload`. */
export type ReadPayload<Payload> = { payload: Payload; faults: null } | { faults: Fault[] };

/** Throws what the schema throws: a conversion of its own may. */
export function readPayload<Payload>(schema: z.ZodType<Payload>, payload: unknown): ReadPayload<Payload> {
  // Only a payload that fails is read again with its input: `reportInput` makes each read half as slow again.
  let read = schema.safeParse(payload);
  if (!read.success) read = schema.safeParse(payload, { reportInput: true });
  if (read.success) return { payload: read.data, faults: null };
  const faults = shapeFaults(read.error);
  return { faults: faults.map(({ path, message }) => ({ path: belowPayload(path), message })) };
}

function belowPayload(path: string): string {
  if (path === "") return "payload";
  return path.startsWith("[") ? `payload${path}` : `payload.${path}`;
}

/** The part of a handler that reads payloads. */
export interface PayloadTaker {
  name: string;
  readPayload(payload: unknown): ReadPayload<unknown>;
}

/**
 * Refuses a payload that its handler would not take: its jobs could only die. A handler that is not deployed here is refused
 * elsewhere.
 */
export function refuseUnfitPayload(
  handlers: readonly PayloadTaker[],
  { target, payload }: { target: object; payload: unknown },
): void {
  if (!("handler" in target)) return;
  const handler = handlers.find(({ name }) => name === target.handler);
  const faults = handler === undefined ? null : faultsOf(handler, payload);
  if (faults !== null)
    throw new Refusal("impossible", `The payload is not what the handler ${handler?.name} takes.`, faults);
}

function faultsOf(handler: PayloadTaker, payload: unknown): Fault[] | null {
  try {
    return handler.readPayload(payload).faults;
  } catch (error) {
    return [{ path: "payload", message: `cannot be read: ${errorText(error)}` }];
  }
}
