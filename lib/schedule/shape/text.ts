import * as z from "zod";

/** Why a string cannot be stored in Postgres as it is; null if it can. */
export function textFault(text: string): string | null {
  if (text.includes("\u0000")) return "holds the character U+0000, which cannot be stored";
  if (!text.isWellFormed()) return "holds half of a surrogate pair, which is not a character";
  return null;
}

/** The part of a text that Postgres can store: without NUL and halves of surrogate pairs. */
export function storablePart(text: string, lengthMax = Number.POSITIVE_INFINITY): string {
  return text.replaceAll("\u0000", "").slice(0, lengthMax).toWellFormed();
}

/** Counted in characters as a person and Postgres count them, not in UTF-16 units. */
export function lengthInCharacters(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

/** A string that can be stored, of `min` to `max` characters. */
export function storableText({ min = 1, max }: { min?: number; max: number }) {
  const shape = z.string().superRefine((text, context) => {
    const length = lengthInCharacters(text);
    if (length < min || length > max) {
      context.addIssue({ code: "custom", message: `takes ${min} to ${max} characters, has ${length}` });
    }
    const fault = textFault(text);
    if (fault !== null) context.addIssue({ code: "custom", message: fault });
  });
  return shape.meta({ ...(min === 0 ? {} : { minLength: min }), maxLength: max, storable: true });
}
