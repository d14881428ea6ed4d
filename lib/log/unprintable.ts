/**
 * Characters that begin a line, control a terminal, or hide or reorder the text around them: texts that
 * callers have written may have any.
 */
export const unprintable: RegExp = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Writes each of these characters as the escape of a JSON string, which reads as the same text. */
export function escaped(text: string): string {
  return text.replace(
    unprintable,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
