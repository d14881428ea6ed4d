import type * as z from "zod";
import { errorClass } from "../log/error-text.ts";
import { textOf } from "../log/text-of.ts";
import { type Fault, Refusal } from "../refusal.ts";
import { shapeFaults } from "../schedule/shape/shape-faults.ts";
import { storablePart } from "../schedule/shape/text.ts";
import { answerHandlingPromises } from "./handled-promises.ts";
import type { HandlerSchema } from "./handler-schema.ts";
import { SchemaTooSlow, withinLimit } from "./schema-time.ts";

/**
 * A payload as converted by its handler's schema, or the faults in it, each with its path below
 * `payload`.
 */
export type ReadPayload<Payload> = { payload: Payload; faults: null } | { faults: Fault[] };

const isAsync = "its schema returned a promise, and has to be synchronous";

/**
 * Thrown for a schema that returns a promise, which is not awaited: where commands are read,
 * waiting for it would delay the other commands.
 */
class AsyncSchema extends TypeError {
  constructor() {
    super(`The payload cannot be read: ${isAsync}.`);
  }
}

/**
 * Reads a payload by the schema of its handler. Throws the error of a schema that throws, as a
 * conversion may. A schema may run for one second. Its promises are not awaited, and one that rejects
 * does not end the process.
 */
export function readPayload(
  { schema }: Pick<PayloadTaker, "schema">,
  payload: unknown,
): ReadPayload<unknown> {
  if (schema === null) return { payload, faults: null };
  const read = answerHandlingPromises(() => withinLimit(schema, () => readAtOnce(schema, payload)));
  if ("answer" in read) return read.answer;
  throw read.promises > 0 && !(read.error instanceof SchemaTooSlow) ? new AsyncSchema() : read.error;
}

function readAtOnce(given: HandlerSchema<unknown>, payload: unknown): ReadPayload<unknown> {
  const schema = given as z.ZodType;
  // Only a payload that fails is read again with its input: `reportInput` makes each read half as
  // slow again.
  let read = schema.safeParse(payload);
  if (!read.success) read = schema.safeParse(payload, { reportInput: true });
  if (read.success) return { payload: read.data, faults: null };
  const faults = shapeFaults(read.error);
  return {
    faults: faults.map(({ path, message }) => ({
      path: storablePart(belowPayload(path), faultLengthMax),
      message: storablePart(textOf(message), faultLengthMax),
    })),
  };
}

/**
 * The longest path and message of a fault, in characters. Both come from the schema, and the
 * database must be able to store them.
 */
const faultLengthMax = 500;

function belowPayload(path: string): string {
  if (path === "") return "payload";
  return path.startsWith("[") ? `payload${path}` : `payload.${path}`;
}

/** The part of a handler that reads payloads. */
export interface PayloadTaker {
  name: string;
  /** Null if the handler takes any payload. */
  readonly schema: HandlerSchema<unknown> | null;
}

/**
 * Refuses a payload that does not fit its handler's schema: its jobs could only die. A handler that
 * is not deployed here is refused elsewhere.
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
    // A copy: the stored payload is the one that the caller sent, even if the schema changes its
    // input.
    return readPayload(handler, structuredClone(payload)).faults;
  } catch (error) {
    // Only the class of the error: its message may contain values that the caller must not see.
    return [{ path: "payload", message: `cannot be read: ${whyUnread(error)}` }];
  }
}

function whyUnread(error: unknown): string {
  if (error instanceof AsyncSchema) return isAsync;
  if (error instanceof SchemaTooSlow) return "its schema takes too long";
  return `its schema threw ${errorClass(error)}`;
}
