import type { Json } from "../../../../client/json.ts";
import type { Fault } from "../../../../client/request/problem.ts";
import { isObject, type JsonObject, valueAt, withText } from "../../../data/document/json-text.ts";
import type { TypedPayload } from "./payload-text.ts";

/** The document that the form draws and changes: the text is the truth, `value` is its reading. */
export interface Draft {
  text: string;
  value: JsonObject;
  faults: readonly Fault[];
  change(text: string): void;
  /** The payload while it is typed: it may not be JSON yet. */
  payload: TypedPayload | null;
  typePayload(payload: TypedPayload): void;
  /** The fields that were changed, or that kept a save back. Others are not shown as missing. */
  touched: ReadonlySet<string>;
  touch(field: string): void;
}

const keepsEmpty: ReadonlySet<string> = new Set(["target", "payload"]);

/** Writes one value into the text, or takes it out; an object that is left empty goes too. */
export function setValue(
  { text, value: document, change }: Draft,
  path: readonly string[],
  value: Json | undefined,
): void {
  const changed = withText(text, path, value === undefined ? undefined : inlineText(value));
  const [head = ""] = path;
  const whole = valueAt(document, [head]);
  const isEmptied =
    value === undefined &&
    path.length > 1 &&
    !keepsEmpty.has(head) &&
    isObject(whole) &&
    Object.keys(whole).every((name) => name === path[1]);
  change(isEmptied ? withText(text, [head], undefined) : changed);
}

/** On one line, with blanks as in a text written by hand. */
function inlineText(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(inlineText).join(", ")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${inlineText(each)}`);
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}
