/** A value cut to a size that fits into an agent's context. */
export interface Fitted {
  value: Record<string, unknown>;
  /** The places that were cut, such as `payload.items: 30 of 150 entries`. */
  leftOut: string[];
}

interface Level {
  /** The longest text, in characters. */
  text: number;
  /** The most entries of a list, and members of an object. */
  entries: number;
  depth: number;
}

/** About 10,000 tokens: large answers would push the conversation out of an agent's context. */
export const charactersMax = 40_000;

const levels: readonly Level[] = [
  { text: 4_000, entries: 100, depth: 12 },
  { text: 1_000, entries: 50, depth: 8 },
  { text: 300, entries: 40, depth: 6 },
  { text: 80, entries: 40, depth: 4 },
  { text: 40, entries: 40, depth: 3 },
];

const placesMax = 10;

/** Texts that an agent sends back, and that would be refused if they were cut. */
const wholeNames: ReadonlySet<string> = new Set(["cursor", "confirm"]);

/**
 * Cuts long texts, long lists and deep values, as little as the size allows. `items` at the top are
 * never cut: the cursor of the page continues after the last of them.
 */
export function fitted(data: object): Fitted {
  let fit: Fitted = { value: {}, leftOut: [] };
  for (const level of levels) {
    fit = cutTo(data, level);
    if (JSON.stringify(fit.value).length <= charactersMax) break;
  }
  const more = fit.leftOut.length - placesMax;
  return more > 0
    ? { ...fit, leftOut: [...fit.leftOut.slice(0, placesMax), `and ${more} more places`] }
    : fit;
}

function cutTo(data: object, level: Level): Fitted {
  const leftOut: string[] = [];
  const cut = (value: unknown, place: string, depth: number): unknown => {
    if (typeof value === "string") return cutText(value, place);
    if (typeof value !== "object" || value === null) return value;
    if (depth > level.depth) {
      leftOut.push(`${place}: deeper parts`);
      return "…";
    }
    const all = Array.isArray(value)
      ? value.map((each, at) => [String(at), each] as const)
      : Object.entries(value);
    const kept = place === "items" ? all : all.slice(0, level.entries);
    if (kept.length < all.length) leftOut.push(`${place}: ${kept.length} of ${all.length} entries`);
    const parts = kept.map(([name, each]) => [name, cut(each, placeOf(place, name), depth + 1)] as const);
    return Array.isArray(value) ? parts.map(([, each]) => each) : Object.fromEntries(parts);
  };
  const cutText = (text: string, place: string): string => {
    if (text.length <= level.text) return text;
    leftOut.push(`${place}: ${level.text} of ${text.length} characters`);
    return `${beginOf(text, level.text)}…`;
  };
  const value = Object.fromEntries(
    Object.entries(data).map(([name, each]) => [name, wholeNames.has(name) ? each : cut(each, name, 1)]),
  );
  return { value, leftOut };
}

function placeOf(place: string, name: string): string {
  return /^\d+$/.test(name) ? `${place}[${name}]` : `${place}.${beginOf(name, 40)}`;
}

/** The first characters; half a surrogate pair at the end is dropped. */
export function beginOf(text: string, most: number): string {
  return text.slice(0, most).replace(/[\uD800-\uDBFF]$/, "");
}
