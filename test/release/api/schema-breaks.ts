import { isDeepStrictEqual } from "node:util";
import { Ajv2020 } from "ajv/dist/2020.js";
import { branchesOf, namesOf, referenceOf, type Schema, schemaOf } from "./schema.ts";

/**
 * The present API must take each request that the released one took. It must give only answers that clients
 * of the release understand; they ignore further properties.
 */
export type Direction = "request" | "answer";

export interface Comparison {
  direction: Direction;
  /** The shared schema of this name in either document. */
  released(name: string): Schema;
  present(name: string): Schema;
  /** Called where both refer to the same shared schema, which is compared once. */
  shared(name: string): void;
}

const ajv = new Ajv2020({ strict: false });

/** Sentences about the present schema at `path`, which begin with the path; none if clients notice nothing. */
export function schemaBreaks(
  released: Schema,
  present: Schema,
  path: string,
  comparison: Comparison,
): string[] {
  const isRequest = comparison.direction === "request";
  const [given, taking] = isRequest ? [released, present] : [present, released];
  const [ofGiven, ofTaking] = isRequest
    ? [comparison.released, comparison.present]
    : [comparison.present, comparison.released];
  const takers = branchesOf(taking);
  const shared = new Set(takers.map(referenceOf));
  const all = takers.flatMap((each) => [each, ...resolved(each, ofTaking)]);
  const faults = branchesOf(given)
    .flatMap((each) => (shared.has(referenceOf(each)) ? [each] : resolved(each, ofGiven)))
    .flatMap((each) => {
      const tried = all.map((taker) => branchBreaks(each, taker, path, comparison));
      return tried.toSorted((a, b) => a.length - b.length)[0] ?? [];
    });
  const defaulted =
    isRequest && JSON.stringify(released["default"]) !== JSON.stringify(present["default"])
      ? [`${path} has another default`]
      : [];
  return [...new Set([...faults, ...defaulted])];
}

/** The branches of the schema that a reference leads to, or the schema itself. */
function resolved(schema: Schema, shared: (name: string) => Schema): Schema[] {
  const name = referenceOf(schema);
  return name === undefined ? [schema] : branchesOf(shared(name)).flatMap((each) => resolved(each, shared));
}

/** Each value of `given` must be one of `taker`. */
function branchBreaks(given: Schema, taker: Schema, path: string, comparison: Comparison): string[] {
  const name = referenceOf(given);
  if (name !== undefined && name === referenceOf(taker)) {
    comparison.shared(name);
    return [];
  }
  if ("const" in given) return constBreaks(given["const"], taker, path, comparison);
  if (Object.keys(taker).every((keyword) => keyword === "description")) return [];
  if (name !== undefined || "$ref" in taker || "const" in taker || !isOfType(given, taker))
    return [`${path} ${said[comparison.direction].another(shown(given))}`];
  const bounds = comparison.direction === "request" ? boundBreaks(given, taker, path) : [];
  const inside = { object: objectBreaks, array: arrayBreaks }[String(taker["type"])];
  return [...bounds, ...(inside?.(given, taker, path, comparison) ?? [])];
}

const said = {
  request: { another: (what: string) => `no longer takes ${what}` },
  answer: { another: (what: string) => `may be ${what}, which it was not` },
};

function shown(schema: Schema): string {
  const name = referenceOf(schema);
  if (name !== undefined) return name;
  return "const" in schema ? JSON.stringify(schema["const"]) : String(schema["type"] ?? "any value");
}

function constBreaks(value: unknown, taker: Schema, path: string, { direction }: Comparison): string[] {
  const isTaken = "const" in taker ? isDeepStrictEqual(value, taker["const"]) : isValid(value, taker);
  return isTaken ? [] : [`${path} ${said[direction].another(JSON.stringify(value))}`];
}

function isValid(value: unknown, taker: Schema): boolean {
  // The schema of a reference is among the takers too.
  if ("$ref" in taker) return false;
  const own = { ...taker };
  try {
    return ajv.validate(own, value);
  } finally {
    ajv.removeSchema(own);
  }
}

function isOfType({ type: given }: Schema, { type }: Schema): boolean {
  return given === type || (given === "integer" && type === "number");
}

const upper = ["maximum", "maxLength", "maxItems", "maxProperties"];
const lower = ["minimum", "minLength", "minItems"];
const exact = ["pattern", "format"];

function boundBreaks(given: Schema, taker: Schema, path: string): string[] {
  const isNarrower = (keyword: string) => {
    const [before, now] = [given[keyword], taker[keyword]];
    if (now === undefined) return false;
    if (typeof before !== "number" || typeof now !== "number") return now !== before;
    if (upper.includes(keyword)) return now < before;
    return lower.includes(keyword) && now > before;
  };
  return [...upper, ...lower, ...exact]
    .filter(isNarrower)
    .map((keyword) => `${path} has a narrower ${keyword}`);
}

function arrayBreaks(given: Schema, taker: Schema, path: string, comparison: Comparison): string[] {
  const compared = (givenItem: unknown, takerItem: unknown, at: string) =>
    turned(schemaOf(givenItem), schemaOf(takerItem), at, comparison);
  const [givenItems = [], takerItems = []] = [given["prefixItems"], taker["prefixItems"]];
  if (!Array.isArray(givenItems) || !Array.isArray(takerItems) || givenItems.length !== takerItems.length)
    return [`${path} ${said[comparison.direction].another("a list of another length")}`];
  return [
    ...givenItems.flatMap((each, index) => compared(each, takerItems[index], `${path}[${index}]`)),
    ...compared(given["items"], taker["items"], `${path}[]`),
  ];
}

/** Compares parts of two branches, of which the first gives and the second takes. */
function turned(given: Schema, taker: Schema, path: string, comparison: Comparison): string[] {
  const [released, present] = comparison.direction === "request" ? [given, taker] : [taker, given];
  return schemaBreaks(released, present, path, comparison);
}

function objectBreaks(given: Schema, taker: Schema, path: string, comparison: Comparison): string[] {
  const isRequest = comparison.direction === "request";
  const [released, present] = isRequest ? [given, taker] : [taker, given];
  const now = schemaOf(present["properties"]);
  const rest = present["additionalProperties"];
  const properties = Object.entries(schemaOf(released["properties"])).flatMap(([name, schema]) => {
    const other = now[name] ?? (rest === false ? undefined : rest);
    const at = `${path}.${name}`;
    if (other !== undefined) return schemaBreaks(schemaOf(schema), schemaOf(other), at, comparison);
    if (rest !== false && isRequest) return [];
    return [`${at} ${isRequest ? "is no longer taken" : "is no longer there"}`];
  });
  const missing = namesOf(taker["required"])
    .filter((name) => !namesOf(given["required"]).includes(name))
    .filter((name) => isRequest || name in now)
    .map((name) => `${path}.${name} ${isRequest ? "is now required" : "may now be missing"}`);
  return [...properties, ...missing, ...furtherBreaks(given, taker, path, comparison)];
}

/** Members that no property names, such as those of `headers`. */
function furtherBreaks(given: Schema, taker: Schema, path: string, comparison: Comparison): string[] {
  const isRequest = comparison.direction === "request";
  const [givenRest = {}, takerRest = {}] = [given["additionalProperties"], taker["additionalProperties"]];
  // Clients of the release ignore further members of an answer.
  if (takerRest === false)
    return isRequest && givenRest !== false ? [`${path} no longer takes further members`] : [];
  const names = isRequest
    ? turned(schemaOf(given["propertyNames"]), schemaOf(taker["propertyNames"]), `${path}.*`, comparison)
    : [];
  if (givenRest === false) return [];
  return [...names, ...turned(schemaOf(givenRest), schemaOf(takerRest), `${path}.*`, comparison)];
}
