import * as z from "zod";
import { lengthInCharacters, textFault } from "./text.ts";

export const keyLengthMax = 255;

/**
 * Control and format characters, lone surrogates, line separators, noncharacters, and letters and marks
 * without a shape (the fillers of Hangul, variation selectors): invisible, or unfit for paths and messages.
 */
const unprintable =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}]/u;

/**
 * Why a text cannot be the key of a schedule or the name of a group; null if it can. Both appear in
 * paths, so characters that a gateway, proxy or client may decode, cut off or resolve are refused.
 */
export function keyFault(key: string, lengthMax = keyLengthMax): string | null {
  return formFault(key, lengthMax) ?? lookFault(key);
}

function formFault(key: string, lengthMax = keyLengthMax): string | null {
  const length = lengthInCharacters(key);
  if (length < 1 || length > lengthMax) return `takes 1 to ${lengthMax} characters, has ${length}`;
  if (key === "." || key === "..") return "may not be `.` or `..`";
  const reserved = /[/?#%\\]/.exec(key);
  if (reserved !== null) return `may not hold \`${reserved[0]}\` (nor any of \`/ ? # % \\\`)`;
  return /^\s|\s$/u.test(key) ? "may not begin or end with a blank" : null;
}

/** Why two texts may look alike although they differ, or why a text cannot be seen whole; null if neither. */
export function lookFault(text: string): string | null {
  const [hidden] = unprintable.exec(text) ?? [];
  if (hidden !== undefined)
    return textFault(text) ?? `may hold printable characters only, not ${codePointText(hidden)}`;
  return text === text.normalize("NFC")
    ? null
    : "must be in the composed form of Unicode (NFC): letters with their accents as one character";
}

/** `U+3164`: the character itself cannot be seen. */
const codePointText = (character: string) =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

/**
 * Whether a key may be the place at which a list goes on. A database may hold keys that an earlier rule
 * allowed.
 */
export const isKeyPlace = (key: string): boolean => formFault(key) === null && textFault(key) === null;

/**
 * The rules of `keyFault` as far as a regular expression can express them for every tool: it lacks
 * the unprintable characters beyond U+FFFF, and the composed form.
 */
const neverInKeys =
  "/?#%\\\\\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\ufffe\\uffff";

const keyPattern = `^(?!\\.{1,2}$)[^\\s${neverInKeys}]([^${neverInKeys}]*[^\\s${neverInKeys}])?$`;

export const keyShape = z
  .string()
  .superRefine((key, context) => {
    const fault = keyFault(key);
    if (fault !== null) context.addIssue({ code: "custom", message: fault });
  })
  .meta({ id: "Key", minLength: 1, maxLength: keyLengthMax, pattern: keyPattern });

const tagLengthMax = 100;

/** A tag follows the rule of keys, and is shorter. */
export const tagShape = z
  .string()
  .superRefine((tag, context) => {
    const fault = keyFault(tag, tagLengthMax);
    if (fault !== null) context.addIssue({ code: "custom", message: fault });
  })
  .meta({ minLength: 1, maxLength: tagLengthMax, pattern: keyPattern });
