import { textOf } from "./text-of.ts";

/** The most characters of an object in a line of text. */
const lengthMax = 500;
/** The most members of one object or list that are read. */
const membersMax = 100;
const depthMax = 8;

/**
 * The value of a field in a line of text: objects as JSON, since handlers log any values. It never
 * fails, and cuts an object that is long.
 */
export function fieldText(value: unknown): string {
  if (typeof value !== "object" || value === null) return textOf(value);
  const plain = plainValue(value);
  const text = typeof plain === "string" ? plain : JSON.stringify(plain);
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax)}…`;
}

/** The value as data that JSON can hold: without circles, big integers and members that throw. */
export function plainValue(value: unknown, around: readonly object[] = []): Plain {
  try {
    return readPlain(value, around);
  } catch {
    // A proxy, or an object with unusual members.
    return "a value that cannot be read";
  }
}

type Plain = string | number | boolean | null | readonly Plain[] | { readonly [name: string]: Plain };

function readPlain(value: unknown, around: readonly object[]): Plain {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (typeof value !== "object" || value instanceof Error) return textOf(value);
  if (around.includes(value)) return "[circular]";
  if (around.length === depthMax) return "…";
  const inner = (member: unknown) => plainValue(member, [...around, value]);
  if ("toJSON" in value && typeof value.toJSON === "function") return inner(value.toJSON());
  if (Array.isArray(value)) return value.slice(0, membersMax).map(inner);
  if (value instanceof Set) return [...value].slice(0, membersMax).map(inner);
  const members: [unknown, unknown][] = value instanceof Map ? [...value] : Object.entries(value);
  const shown = members.slice(0, membersMax).filter(([, member]) => member !== undefined);
  return Object.fromEntries(shown.map(([name, member]) => [textOf(name), inner(member)]));
}
