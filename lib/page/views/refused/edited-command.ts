import type { Operation } from "../../../client/batch.ts";
import type { Carillon } from "../../../client/carillon.ts";
import type { Json } from "../../../client/json.ts";
import { CarillonProblem } from "../../../client/request/problem.ts";
import type { PreviewBody } from "../../../client/time.ts";

/** The command without the parts that belong to its message. */
export function operationText(command: Json): string {
  if (typeof command !== "object" || command === null || Array.isArray(command))
    return JSON.stringify(command, null, 2);
  const { id: _, at: __, ...operation } = command;
  return JSON.stringify(operation, null, 2);
}

/** The edited text as JSON. The API checks what it says. */
export function readOperation(text: string): Operation & { put?: PreviewBody } {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`The text is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Sends it as a batch of one, and returns a sentence on what was done. */
export async function sendOperation(carillon: Carillon, operation: Operation): Promise<string> {
  const [result] = await carillon.batch([operation]);
  if (result === undefined) throw new Error("The API answered without a result.");
  if (result.error !== undefined) throw new CarillonProblem(result.error);
  const what = result.status === 201 ? "created" : result.status === 204 ? "deleted" : "applied";
  return `${result.key ?? "The command"}: ${what}${result.version === undefined ? "" : `, version ${result.version}`}.`;
}
