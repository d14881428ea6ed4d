import type { Fault } from "../../../client/request/problem.ts";

/** The faults of a field: of itself, and of its parts. */
export function faultsOf(faults: readonly Fault[], path: readonly string[]): Fault[] {
  const name = path.join(".");
  return faults.filter(
    (fault) =>
      fault.path === name || (/^[.[]/.test(fault.path.slice(name.length)) && fault.path.startsWith(name)),
  );
}

/** The fault of a `when`, with the place in its text that the server names. */
export function placedFault(message: string): { words: string; position: number | null } {
  const [, words = message, position] = /^(.*) \(at position (\d+)\)$/s.exec(message) ?? [];
  return { words, position: position === undefined ? null : Number(position) };
}
