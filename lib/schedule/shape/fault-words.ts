import type * as z from "zod";
import english from "zod/v4/locales/en.js";

type Issue = z.core.$ZodIssue;
type Branches = readonly (readonly Issue[])[];

/**
 * The library's own messages are replaced by the words of this file; messages of a schema are used
 * as they are.
 */
const { localeError: libraryWords } = english();

/** The words for a fault; a sentence puts them behind the path of the fault. */
export function faultWords(issue: Issue): string {
  // `libraryWords` is typed for issues that have no message yet.
  const words: unknown = Reflect.apply(libraryWords, undefined, [issue]);
  return issue.message === words ? ownWords(issue) : issue.message;
}

function ownWords(issue: Issue): string {
  if (issue.input === undefined && (issue.code === "invalid_type" || issue.code === "invalid_value"))
    return "is required";
  switch (issue.code) {
    case "invalid_type":
      return `takes ${typeName(issue.expected)}${besides(issue)}`;
    case "invalid_value":
      return `takes ${oneOf(issue.values.map((value) => (typeof value === "string" ? JSON.stringify(value) : String(value))))}`;
    case "too_small":
      return bound(issue.origin, issue.minimum, issue.inclusive === false ? "more than" : "at least");
    case "too_big":
      return bound(issue.origin, issue.maximum, issue.inclusive === false ? "less than" : "at most");
    case "not_multiple_of":
      return `is not a multiple of ${issue.divisor}`;
    case "invalid_format":
      return formatNames[issue.format] ?? `is not written as ${issue.pattern ?? issue.format}`;
    case "invalid_union":
      return unionWords(issue.errors);
    default:
      return "is not understood";
  }
}

const formatNames: Readonly<Record<string, string>> = {
  datetime: "is not an instant such as 2026-12-01T09:00:00Z",
  date: "is not a date such as 2026-12-01",
  url: "is not a URL",
  uuid: "is not a UUID",
};

const typeNames: Readonly<Record<string, string>> = {
  array: "a list",
  boolean: "true or false",
  int: "a whole number",
  null: "null",
  number: "a number",
  object: "an object",
  record: "an object",
  string: "a string",
};

function typeName(type: string): string {
  return typeNames[type] ?? `a ${type}`;
}

/**
 * The actual type of the input, as `, not a list`; empty for a number where a whole number is
 * expected.
 */
function besides({ expected, input }: z.core.$ZodIssueInvalidType): string {
  if (typeof input === "number" && (expected === "int" || expected === "number")) return "";
  if (input === null || typeof input === "boolean") return `, not ${input}`;
  return `, not ${typeName(Array.isArray(input) ? "array" : typeof input)}`;
}

const units: Readonly<Record<string, string>> = { array: "item", record: "member", string: "character" };

function bound(origin: string, most: number | bigint, how: string): string {
  const unit = units[origin];
  return unit === undefined ? `is ${how} ${most}` : `takes ${how} ${most} ${unit}${most === 1 ? "" : "s"}`;
}

/** For a union of which no form fits better than another: the types that it allows. */
function unionWords(branches: Branches): string {
  const forms = branches.flat().flatMap((issue) => {
    if (issue.path.length > 0) return [];
    const words = ownWords(issue);
    return words.startsWith("takes ") ? [words.slice("takes ".length).replace(/, not .*$/, "")] : [];
  });
  return forms.length === 0 ? "has none of the allowed forms" : `takes ${oneOf([...new Set(forms)])}`;
}

function oneOf(names: readonly string[]): string {
  const last = names.at(-1) ?? "nothing";
  return names.length < 2 ? last : `${names.slice(0, -1).join(", ")} or ${last}`;
}
