import type { Json } from "../client/main.ts";
import { readOnlyFields } from "../client/puttable.ts";
import type { Call } from "./command.ts";
import { objectFrom } from "./input.ts";

type Body = { [name: string]: Json };

/**
 * A schedule from a file, either as a put takes it or as an answer has it. Read-only fields are
 * left out, with a note.
 */
export async function scheduleInFile(call: Call, file: string): Promise<Body> {
  const json = await objectFrom(call, file, "--file");
  const left = Object.keys(json).filter((name) => readOnlyFields.has(name));
  if (left.length > 0) call.out.note(`Left out read-only fields: ${left.join(", ")}.`);
  return Object.fromEntries(Object.entries(json).filter(([name]) => !readOnlyFields.has(name)));
}
