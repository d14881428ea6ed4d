/**
 * The members of each kind of schema that contain other schemas. A kind that is not listed runs
 * code of the app, or is rare.
 */
const members: Readonly<Record<string, readonly string[]>> = {
  any: [],
  bigint: [],
  boolean: [],
  date: [],
  enum: [],
  literal: [],
  nan: [],
  never: [],
  null: [],
  number: [],
  string: [],
  undefined: [],
  unknown: [],
  void: [],
  array: ["element"],
  default: ["innerType"],
  intersection: ["left", "right"],
  nonoptional: ["innerType"],
  nullable: ["innerType"],
  object: ["shape", "catchall"],
  optional: ["innerType"],
  pipe: ["in", "out"],
  readonly: ["innerType"],
  record: ["keyType", "valueType"],
  tuple: ["items", "rest"],
  union: ["options"],
};

const checks: ReadonlySet<unknown> = new Set([
  "bigint_format",
  "greater_than",
  "length_equals",
  "less_than",
  "max_length",
  "min_length",
  "multiple_of",
  "number_format",
]);

/**
 * Formats of a text whose expression is zod's own. For others, such as `email`, the app may give
 * its own expression.
 */
const formats: ReadonlySet<unknown> = new Set([
  "base64",
  "base64url",
  "date",
  "datetime",
  "ends_with",
  "guid",
  "includes",
  "ipv4",
  "ipv6",
  "lowercase",
  "starts_with",
  "time",
  "uppercase",
  "uuid",
]);

const known = new WeakMap<object, boolean>();

/**
 * Whether the size of a payload alone bounds the time of its schema: the schema runs no code and no
 * expression of the app. A schema that contains itself is not bounded, since a union in it may take
 * twice as long with each level.
 */
export function isBounded(schema: object): boolean {
  const before = known.get(schema);
  if (before !== undefined) return before;
  known.set(schema, false);
  const bounded = isBoundedDefinition(definitionOf(schema));
  known.set(schema, bounded);
  return bounded;
}

function isBoundedDefinition(definition: object | undefined): boolean {
  if (definition === undefined) return false;
  const own = members[String(Reflect.get(definition, "type"))];
  if (own === undefined || !isBoundedCheck(definition)) return false;
  const given: unknown = Reflect.get(definition, "checks") ?? [];
  if (!Array.isArray(given) || !given.every((check: unknown) => isBoundedCheck(definitionOf(check))))
    return false;
  return own.flatMap((name) => schemasIn(Reflect.get(definition, name))).every(isBounded);
}

/**
 * Whether a check runs no code of the app. A schema of texts with a format, such as `z.uuid()`, is
 * a check itself.
 */
function isBoundedCheck(definition: object | undefined): boolean {
  if (definition === undefined) return false;
  const check: unknown = Reflect.get(definition, "check");
  if (check === "string_format") return formats.has(Reflect.get(definition, "format"));
  return check === undefined ? Reflect.has(definition, "type") : checks.has(check);
}

/**
 * The schemas in a member: it may be one schema, a list of them, or an object whose values are
 * schemas.
 */
function schemasIn(value: unknown): object[] {
  if (typeof value !== "object" || value === null) return [];
  if (definitionOf(value) !== undefined) return [value];
  return Object.values(value).filter((each) => typeof each === "object" && each !== null);
}

function definitionOf(schema: unknown): object | undefined {
  if (typeof schema !== "object" || schema === null || !("_zod" in schema)) return undefined;
  const { _zod: internals } = schema;
  if (typeof internals !== "object" || internals === null || !("def" in internals)) return undefined;
  return typeof internals.def === "object" && internals.def !== null ? internals.def : undefined;
}
