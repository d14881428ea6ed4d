import type { Json, Schedule } from "../client/main.ts";
import type { Call } from "./command.ts";
import { objectFrom } from "./input.ts";

type Body = { [name: string]: Json };

/** What a schedule is read with and cannot be put with. */
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

/** What a put takes of a schedule that was read: put back, it changes nothing. */
export function puttable(schedule: Schedule): object {
  return Object.fromEntries(Object.entries(schedule).filter(([name]) => !readOnly.has(name)));
}

/** A schedule in a file, as it is asked for, or as it was read: what only reading gives is left out, and told. */
export async function scheduleInFile(call: Call, file: string): Promise<Body> {
  const json = await objectFrom(call, file, "--file");
  const left = Object.keys(json).filter((name) => readOnly.has(name));
  if (left.length > 0) call.out.note(`Left out what is read only: ${left.join(", ")}.`);
  return Object.fromEntries(Object.entries(json).filter(([name]) => !readOnly.has(name)));
}
