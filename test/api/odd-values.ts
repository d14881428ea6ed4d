import { createHash } from "node:crypto";

/** The path to a value in a body: names of members and positions in lists. */
export type Place = readonly (string | number)[];

/**
 * Text that cannot be compressed, because an index accepts long text if it compresses to a few
 * kilobytes.
 */
function noise(length: number): string {
  const pieces = Array.from({ length: Math.ceil(length / 128) }, (_, n) =>
    createHash("sha512").update(String(n)).digest("hex"),
  );
  return pieces.join("").slice(0, length);
}

/** Characters of three bytes in UTF-8. */
function ideographs(length: number): string {
  const hex = noise(4 * length);
  return Array.from({ length }, (_, n) =>
    String.fromCharCode(0x4e00 + (Number.parseInt(hex.slice(4 * n, 4 * n + 4), 16) % 20_000)),
  ).join("");
}

const odd = [
  "",
  " ",
  "\u0000",
  "a\u0000b",
  "\ud800",
  "a\udfffb",
  "__proto__",
  "constructor",
  "%00",
  "\uffff",
  noise(256),
  noise(4_000),
  ideographs(100),
  ideographs(255),
  ideographs(1_000),
];

/**
 * Strings that are odd by themselves, and the given one with each of its words made long, so that
 * its form stays valid.
 */
export function oddStrings(text: string): string[] {
  const words = [...text.matchAll(/[a-z0-9]+/gi)].map(({ index, 0: word }) => index + word.length);
  const stretched = words.flatMap((end) =>
    [noise(3_000), ideographs(1_000)].map((more) => text.slice(0, end) + more + text.slice(end)),
  );
  return [...odd, ...stretched];
}

export const oddNames = [
  "__proto__",
  "constructor",
  "toString",
  "",
  "\u0000",
  "\ud800",
  noise(4_000),
  ideographs(1_000),
];

/** The paths of all strings in a value. */
export function stringsIn(value: unknown, place: Place = []): { place: Place; text: string }[] {
  if (typeof value === "string") return [{ place, text: value }];
  return members(value).flatMap(([name, member]) => stringsIn(member, [...place, name]));
}

/** The paths of all objects in a value, including itself. */
export function objectsIn(value: unknown, place: Place = []): Place[] {
  if (typeof value !== "object" || value === null) return [];
  const below = members(value).flatMap(([name, member]) => objectsIn(member, [...place, name]));
  return Array.isArray(value) ? below : [place, ...below];
}

function members(value: unknown): [string | number, unknown][] {
  if (Array.isArray(value)) return value.map((member, index) => [index, member]);
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}

/**
 * The value with another value at a path. Built from entries, because assigning to `__proto__`
 * makes no member.
 */
export function replaced(value: unknown, place: Place, other: unknown): unknown {
  const [name, ...rest] = place;
  if (name === undefined) return other;
  if (Array.isArray(value))
    return value.map((member, index) => (index === name ? replaced(member, rest, other) : member));
  const entries = new Map(members(value));
  return Object.fromEntries(entries.set(name, replaced(entries.get(name), rest, other)));
}

export function valueAt(value: unknown, place: Place): unknown {
  return place.reduce<unknown>((at, name) => new Map(members(at)).get(name), value);
}

/** A path in the notation of problems. */
export function pathOf(place: Place): string {
  return place
    .map((name) =>
      typeof name === "number" ? `[${name}]` : `.${name.length > 100 ? `${name.slice(0, 100)}…` : name}`,
    )
    .join("")
    .replace(/^\./, "");
}
