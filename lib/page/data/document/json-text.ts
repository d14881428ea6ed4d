import { jsonLanguage } from "@codemirror/lang-json";
import type { Json } from "../../../client/json.ts";

export type JsonObject = { [name: string]: Json };

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export interface TextRange {
  from: number;
  to: number;
}

export type ReadText = { ok: true; value: JsonObject } | { ok: false; message: string; range: TextRange };

type Node = ReturnType<typeof jsonLanguage.parser.parse>["topNode"];

const rootOf = (text: string): Node | null => jsonLanguage.parser.parse(text).topNode.firstChild;

/** The object that a text holds, or the place where it ceases to be JSON. */
export function readObject(text: string): ReadText {
  try {
    const value: Json = JSON.parse(text);
    if (isObject(value)) return { ok: true, value };
    return { ok: false, message: "A schedule is a JSON object: { … }.", range: { from: 0, to: text.length } };
  } catch {
    return { ok: false, message: "This is not JSON yet.", range: firstError(text) };
  }
}

function firstError(text: string): TextRange {
  const cursor = jsonLanguage.parser.parse(text).cursor();
  do {
    if (cursor.type.isError) return { from: cursor.from, to: Math.max(cursor.to, cursor.from) };
  } while (cursor.next());
  return { from: text.length, to: text.length };
}

/** The value at a path; undefined where there is none. */
export function valueAt(document: JsonObject, path: readonly string[]): Json | undefined {
  let value: Json | undefined = document;
  for (const name of path) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

/** The text of the value at a path, as it is written. */
export function textAt(text: string, path: readonly string[]): string | undefined {
  let node = rootOf(text);
  for (const name of path) node = propertyOf(text, node, name)?.lastChild ?? null;
  return node === null ? undefined : text.slice(node.from, node.to);
}

/** The place of a fault's path, such as `target.queue` or `when[1]`: the deepest part that exists. */
export function rangeOf(text: string, faultPath: string): TextRange {
  let node = rootOf(text);
  let found: TextRange = { from: 0, to: Math.min(1, text.length) };
  for (const step of faultPath.split(/[.[\]]+/).filter((each) => each !== "")) {
    if (node?.name === "Array") node = itemsOf(node)[Number(step)] ?? null;
    else node = propertyOf(text, node, step)?.lastChild ?? null;
    if (node === null) break;
    found = { from: node.from, to: node.to };
  }
  return found;
}

/**
 * The text with another value at a path, or without it. All else stays as it is written: fields that
 * the form cannot draw, numbers, blanks.
 */
export function withText(
  text: string,
  [name = "", ...rest]: readonly string[],
  value: string | undefined,
): string {
  return edited(text, rootOf(text), [name, ...rest], value);
}

function edited(
  text: string,
  object: Node | null,
  path: readonly string[],
  value: string | undefined,
): string {
  const [name = "", ...rest] = path;
  if (object?.name !== "Object") return text;
  const property = propertyOf(text, object, name);
  const current = property?.lastChild ?? null;
  if (value === undefined) {
    if (property === null) return text;
    return rest.length === 0 ? without(text, property) : edited(text, current, rest, value);
  }
  if (rest.length > 0 && current?.name === "Object") return edited(text, current, rest, value);
  const whole = rest.reduceRight((inner, each) => `{ ${JSON.stringify(each)}: ${inner} }`, value);
  if (current !== null) return text.slice(0, current.from) + whole + text.slice(current.to);
  return inserted(text, object, `${JSON.stringify(name)}: ${whole}`);
}

/** A new property stands last, on a line of its own if the first one does. */
function inserted(text: string, object: Node, property: string): string {
  const last = object.getChildren("Property").at(-1);
  if (last === undefined) return `${text.slice(0, object.from)}{ ${property} }${text.slice(object.to)}`;
  const [first = last] = object.getChildren("Property");
  const between = /\n[^\S\n]*$/.exec(text.slice(object.from, first.from))?.[0] ?? " ";
  return `${text.slice(0, last.to)},${between}${property}${text.slice(last.to)}`;
}

/** Takes the comma before the property along, or behind the first one the comma after it. */
function without(text: string, property: Node): string {
  const before = /,\s*$/.exec(text.slice(0, property.from));
  if (before !== null) return text.slice(0, before.index) + text.slice(property.to);
  const after = /^\s*,\s*/.exec(text.slice(property.to));
  return text.slice(0, property.from) + text.slice(property.to + (after?.[0].length ?? 0));
}

/** The last member of a name, because `JSON.parse` takes that one. */
function propertyOf(text: string, object: Node | null, name: string): Node | null {
  if (object?.name !== "Object") return null;
  const named = object.getChildren("Property").filter(({ firstChild }) => {
    return firstChild !== null && nameIn(text.slice(firstChild.from, firstChild.to)) === name;
  });
  return named.at(-1) ?? null;
}

function nameIn(text: string): string | null {
  try {
    return String(JSON.parse(text));
  } catch {
    return null;
  }
}

function itemsOf(array: Node): Node[] {
  const items: Node[] = [];
  for (let item = array.firstChild; item !== null; item = item.nextSibling)
    if (/^[A-Z]/.test(item.name)) items.push(item);
  return items;
}
