import type { Fault } from "../../../client/request/problem.ts";

/** The faults of a field: of itself, and of its parts. */
export function faultsOf(faults: readonly Fault[], path: readonly string[]): Fault[] {
  const name = path.join(".");
  return faults.filter(
    (fault) =>
      fault.path === name || (/^[.[]/.test(fault.path.slice(name.length)) && fault.path.startsWith(name)),
  );
}

/** Each fault once, although two answers name it. */
export const distinct = (faults: readonly Fault[]): Fault[] => [
  ...new Map(faults.map((fault) => [`${fault.path} ${fault.message}`, fault])).values(),
];

/** The fault of a `when`, with the place in its text that the server names. */
export function placedFault(message: string): { words: string; position: number | null } {
  const [, words = message, position] = /^(.*) \(at position (\d+)\)$/s.exec(message) ?? [];
  return { words, position: position === undefined ? null : Number(position) };
}

/** The `when` that a fault proposes; null without a proposal. A proposed word stands for the refused one. */
export function proposedWhen(text: string, message: string): string | null {
  const { words, position } = placedFault(message);
  const [, proposed] = /(?:; did you mean|, perhaps) (.+?)[?.](?= |$)/.exec(words) ?? [];
  if (proposed === undefined || proposed.includes(" ")) return proposed ?? null;
  const [, word] = /"([^"]+)" is (?:not understood|no unit)/.exec(words) ?? [];
  if (word === undefined || position === null || !text.startsWith(word, position)) return null;
  return text.slice(0, position) + proposed + text.slice(position + word.length);
}
