/**
 * An event pattern that EventBridge would reject, or that this endpoint does not support; `message`
 * says where and why.
 */
export class InvalidPattern extends Error {
  override readonly name = "InvalidPattern";
}

/** Whether one of a field's values passes; the list is empty when the event lacks the field. */
export type LeafTest = (leaves: readonly unknown[]) => boolean;

type ValueTest = (value: unknown) => boolean;

/**
 * One entry of a field's list: a plain value, or an object with one test such as `{ "prefix": "eu-"
 * }`.
 */
export function leafTest(rule: unknown): LeafTest {
  if (isPlain(rule)) return any((value) => value === rule);
  const [name, argument] = onlyEntry(rule);
  if (name === "exists") {
    if (typeof argument !== "boolean") throw new InvalidPattern('"exists" takes true or false');
    return (leaves) => leaves.length > 0 === argument;
  }
  const make = valueTests[name];
  if (make === undefined) {
    throw new InvalidPattern(`"${name}" is not supported; use exists, ${Object.keys(valueTests).join(", ")}`);
  }
  return any(make(argument));
}

function any(test: ValueTest): LeafTest {
  return (leaves) => leaves.some(test);
}

const valueTests: Readonly<Record<string, (argument: unknown) => ValueTest>> = {
  prefix: (argument) => edge("prefix", argument, (value, part) => value.startsWith(part)),
  suffix: (argument) => edge("suffix", argument, (value, part) => value.endsWith(part)),
  "equals-ignore-case": equalsIgnoreCase,
  wildcard,
  numeric,
  "anything-but": anythingBut,
};

function edge(name: string, argument: unknown, holds: (value: string, part: string) => boolean): ValueTest {
  if (isObject(argument)) {
    const [inner, part] = onlyEntry(argument);
    if (inner !== "equals-ignore-case")
      throw new InvalidPattern(`"${name}" knows only "equals-ignore-case" within it`);
    const wanted = textOf(`${name} equals-ignore-case`, part).toLowerCase();
    return onText((value) => holds(value.toLowerCase(), wanted));
  }
  const wanted = textOf(name, argument);
  return onText((value) => holds(value, wanted));
}

function equalsIgnoreCase(argument: unknown): ValueTest {
  const wanted = textOf("equals-ignore-case", argument).toLowerCase();
  return onText((value) => value.toLowerCase() === wanted);
}

/**
 * `*` matches any characters; `\*` and `\\` match themselves. Written by hand, because a pattern
 * must not become a slow regular expression.
 */
function wildcard(argument: unknown): ValueTest {
  const pattern = textOf("wildcard", argument);
  const pieces = [""];
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern.charAt(at);
    if (character === "*") {
      if (at > 0 && pieces.at(-1) === "")
        throw new InvalidPattern('"wildcard" does not allow two stars in a row');
      pieces.push("");
      continue;
    }
    const escaped = character === "\\";
    if (escaped) at++;
    if (escaped && !["*", "\\"].includes(pattern.charAt(at))) {
      throw new InvalidPattern('"wildcard" allows only \\* and \\\\ after a backslash');
    }
    pieces[pieces.length - 1] += pattern.charAt(at);
  }
  return onText((value) => fits(value, pieces));
}

function fits(value: string, pieces: readonly string[]): boolean {
  const [first = "", ...others] = pieces;
  const last = others.pop();
  if (last === undefined) return value === first;
  if (!value.startsWith(first)) return false;
  let at = first.length;
  for (const piece of others) {
    const found = value.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return value.length - last.length >= at && value.endsWith(last);
}

const comparisons: Readonly<Record<string, (value: number, bound: number) => boolean>> = {
  "=": (value, bound) => value === bound,
  "<": (value, bound) => value < bound,
  "<=": (value, bound) => value <= bound,
  ">": (value, bound) => value > bound,
  ">=": (value, bound) => value >= bound,
};

function numeric(argument: unknown): ValueTest {
  const expected = '"numeric" takes one or two comparisons, such as [">", 0, "<=", 5]';
  if (!Array.isArray(argument) || (argument.length !== 2 && argument.length !== 4))
    throw new InvalidPattern(expected);
  const tests: ((value: number) => boolean)[] = [];
  for (let at = 0; at < argument.length; at += 2) {
    const compare = comparisons[String(argument[at])];
    const bound: unknown = argument[at + 1];
    if (compare === undefined || typeof bound !== "number") throw new InvalidPattern(expected);
    tests.push((value) => compare(value, bound));
  }
  return (value) => typeof value === "number" && tests.every((test) => test(value));
}

function anythingBut(argument: unknown): ValueTest {
  if (isObject(argument)) {
    const [name, inner] = onlyEntry(argument);
    if (!["prefix", "suffix", "equals-ignore-case", "wildcard"].includes(name)) {
      throw new InvalidPattern(`"anything-but" does not support "${name}"`);
    }
    const make = valueTests[name];
    const excluded = listOf(inner).map((entry) => make?.(entry));
    return onText((value) => !excluded.some((test) => test?.(value)));
  }
  const excluded = listOf(argument);
  if (
    excluded.length === 0 ||
    !excluded.every((value) => typeof value === "string" || typeof value === "number")
  ) {
    throw new InvalidPattern('"anything-but" takes a text, a number, a list of them, or one test');
  }
  return (value) => !excluded.some((other) => other === value);
}

function listOf(argument: unknown): readonly unknown[] {
  return Array.isArray(argument) ? argument : [argument];
}

function onText(test: (value: string) => boolean): ValueTest {
  return (value) => typeof value === "string" && test(value);
}

function textOf(name: string, argument: unknown): string {
  if (typeof argument !== "string" || argument === "")
    throw new InvalidPattern(`"${name}" takes a non-empty text`);
  return argument;
}

function onlyEntry(rule: unknown): [string, unknown] {
  const entries = isObject(rule) ? Object.entries(rule) : [];
  const [only] = entries;
  if (only === undefined || entries.length !== 1) {
    throw new InvalidPattern("a list takes plain values and objects with exactly one test");
  }
  return only;
}

function isPlain(value: unknown): boolean {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
