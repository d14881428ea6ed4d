import type { Json, Schedule } from "../client/main.ts";
import type { Call } from "./command.ts";
import { objectFrom } from "./input.ts";

type Body = { [name: string]: Json };

/** Fields of an answer that a put does not take. */
const readOnly: ReadonlySet<string> = new Set([
  "id",
  "state",
  "version",
  "cadence",
  "cadenceText",
  "nextAt",
  "holds",
  "checks",
  "warnings",
  "unreadable",
  "createdAt",
  "createdBy",
  "updatedAt",
  "updatedBy",
  "lastJob",
  "changes",
]);

/** The fields of a schedule that a put takes; putting them back changes nothing. */
export function puttable(schedule: Schedule): object {
  return Object.fromEntries(Object.entries(schedule).filter(([name]) => !readOnly.has(name)));
}

/**
 * A schedule from a file, either as a put takes it or as an answer has it. Read-only fields are
 * left out, with a note.
 */
export async function scheduleInFile(call: Call, file: string): Promise<Body> {
  const json = await objectFrom(call, file, "--file");
  const left = Object.keys(json).filter((name) => readOnly.has(name));
  if (left.length > 0) call.out.note(`Left out read-only fields: ${left.join(", ")}.`);
  return Object.fromEntries(Object.entries(json).filter(([name]) => !readOnly.has(name)));
}
