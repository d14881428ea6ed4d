import { InvalidPattern, type LeafTest, leafTest } from "./pattern-leaf.ts";

export type EventMatcher = (event: unknown) => boolean;

const depthMax = 32;

/**
 * EventBridge's content filtering. A pattern names fields, each with a list of tests; one test of
 * the list must pass. `$or` takes whole patterns. An unsupported test is refused, because treating
 * it as "matches nothing" would hide the mistake.
 */
export function compilePattern(text: string): EventMatcher {
  let pattern: unknown;
  try {
    pattern = JSON.parse(text);
  } catch {
    throw new InvalidPattern("it is not JSON");
  }
  if (!isObject(pattern) || Object.keys(pattern).length === 0) {
    throw new InvalidPattern("it must be an object with at least one field");
  }
  return compileObject(pattern, []);
}

type Node = Readonly<Record<string, unknown>>;

function compileObject(pattern: Node, path: readonly string[]): EventMatcher {
  if (path.length > depthMax) throw new InvalidPattern(`it is nested deeper than ${depthMax} levels`);
  const parts = Object.entries(pattern).map(([name, rule]): EventMatcher => {
    if (name === "$or") return compileAlternatives(rule, path);
    const matches = compileField(rule, [...path, name]);
    return (value) => matches(field(value, name));
  });
  return (value) => elements(value).some((element) => parts.every((matches) => matches(element)));
}

function compileAlternatives(rule: unknown, path: readonly string[]): EventMatcher {
  if (!Array.isArray(rule) || rule.length < 2) {
    throw new InvalidPattern(`${place(path)}: "$or" takes a list of at least two patterns`);
  }
  const alternatives = rule.map((alternative: unknown) => {
    if (!isObject(alternative)) throw new InvalidPattern(`${place(path)}: "$or" takes objects only`);
    return compileObject(alternative, [...path, "$or"]);
  });
  return (value) => alternatives.some((matches) => matches(value));
}

function compileField(rule: unknown, path: readonly string[]): EventMatcher {
  if (Array.isArray(rule)) return compileLeaf(rule, path);
  if (!isObject(rule)) {
    throw new InvalidPattern(
      `${place(path)}: a field takes a list of values and tests, or an object of fields`,
    );
  }
  if (Object.keys(rule).length === 0)
    throw new InvalidPattern(`${place(path)}: an empty object matches nothing`);
  return compileObject(rule, path);
}

function compileLeaf(rules: readonly unknown[], path: readonly string[]): EventMatcher {
  if (rules.length === 0) throw new InvalidPattern(`${place(path)}: an empty list matches nothing`);
  const tests = rules.map((rule): LeafTest => {
    try {
      return leafTest(rule);
    } catch (error) {
      if (error instanceof InvalidPattern) throw new InvalidPattern(`${place(path)}: ${error.message}`);
      throw error;
    }
  });
  return (value) => {
    const leaves = elements(value).filter((leaf) => leaf !== undefined && !isObject(leaf));
    return tests.some((test) => test(leaves));
  };
}

/**
 * An array in an event matches if any of its elements does. An empty array counts as a missing
 * field, as in EventBridge.
 */
function elements(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) return [value];
  const flat: unknown[] = value.flat(Number.POSITIVE_INFINITY);
  return flat.length === 0 ? [undefined] : flat;
}

function field(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function place(path: readonly string[]): string {
  return path.length === 0 ? "the pattern" : path.join(".");
}

function isObject(value: unknown): value is Node {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
