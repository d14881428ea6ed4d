import * as z from "zod";
import { lengthInCharacters, textFault } from "./text.ts";

export const keyLengthMax = 255;

/**
 * Control and format characters, lone surrogates, line separators and noncharacters: invisible, or
 * unfit for paths and messages.
 */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]/u;

/**
 * Why a text cannot be the key of a schedule or the name of a group; null if it can. Both appear in
 * paths, so characters that a gateway, proxy or client may decode, cut off or resolve are refused.
 */
export function keyFault(key: string, lengthMax = keyLengthMax): string | null {
  const length = lengthInCharacters(key);
  if (length < 1 || length > lengthMax) return `takes 1 to ${lengthMax} characters, has ${length}`;
  if (key === "." || key === "..") return "may not be `.` or `..`";
  const reserved = /[/?#%\\]/.exec(key);
  if (reserved !== null) return `may not hold \`${reserved[0]}\` (nor any of \`/ ? # % \\\`)`;
  if (/^\s|\s$/u.test(key)) return "may not begin or end with a blank";
  if (unprintable.test(key)) return textFault(key) ?? "may hold printable characters only";
  return null;
}

/**
 * The rules of `keyFault` as far as a regular expression can express them for every tool: it lacks
 * the unprintable characters beyond U+FFFF.
 */
const neverInKeys =
  "/?#%\\\\\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u2064\\u2066-\\u206f\\ufeff\\ufff9-\\ufffb\\ufffe\\uffff";

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
