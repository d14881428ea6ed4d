import type * as z from "zod";
import { type Fault, Refusal } from "../refusal.ts";
import { shapeFaults } from "../schedule/shape-faults.ts";

/** What in a payload a schema does not take, each with its path below `payload`. */
export function payloadFaults(schema: z.ZodType, payload: unknown): Fault[] {
  const read = schema.safeParse(payload, { reportInput: true });
  if (read.success) return [];
  return shapeFaults(read.error).map(({ path, message }) => ({ path: belowPayload(path), message }));
}

function belowPayload(path: string): string {
  if (path === "") return "payload";
  return path.startsWith("[") ? `payload${path}` : `payload.${path}`;
}

/** What a handler says of payloads. */
export interface PayloadTaker {
  name: string;
  payloadFaults(payload: unknown): Fault[];
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
  const faults = handler?.payloadFaults(payload) ?? [];
  if (faults.length > 0)
    throw new Refusal("impossible", `The payload is not what the handler ${handler?.name} takes.`, faults);
}
