import { faultsMax } from "./shape-faults.ts";
import { textFault } from "./text.ts";

export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

export interface JsonFault {
  path: PropertyKey[];
  message: string;
}

export const jsonDepthMax = 32;

/** True if Postgres can store the value as jsonb and return it unchanged. */
export function isJson(value: unknown): value is Json {
  return jsonFaults(value).length === 0;
}

/**
 * The parts of a parsed JSON value that could not be stored, each with its path; at most
 * `faultsMax`.
 */
export function jsonFaults(value: unknown): JsonFault[] {
  const faults: JsonFault[] = [];
  collectFaults(value, [], faults);
  return faults;
}

/**
 * `path` is one array that grows and shrinks on the way. Only a fault copies it, and most values
 * have none.
 */
function collectFaults(value: unknown, path: PropertyKey[], faults: JsonFault[]): void {
  const report = (message: string) => faults.push({ path: [...path], message });
  const message = scalarFault(value);
  if (message !== null) report(message);
  if (typeof value !== "object" || value === null) return;
  if (path.length >= jsonDepthMax) {
    report(`is nested more than ${jsonDepthMax} levels deep`);
    return;
  }
  const isArray = Array.isArray(value);
  for (const [name, member] of Object.entries(value)) {
    if (faults.length >= faultsMax) return;
    path.push(isArray ? Number(name) : name);
    const nameFault = isArray ? null : textFault(name);
    if (nameFault !== null) report(`has a name that ${nameFault}`);
    collectFaults(member, path, faults);
    path.pop();
  }
}

function scalarFault(value: unknown): string | null {
  switch (typeof value) {
    case "string":
      return textFault(value);
    case "number":
      return Number.isFinite(value) ? null : "is a number too large to be stored";
    case "boolean":
    case "object":
      return null;
    default:
      return "is not JSON";
  }
}
