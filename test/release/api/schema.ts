/** A JSON schema, or a value inside one. */
export type Schema = Readonly<Record<string, unknown>>;

/** Keywords that say what a value is. The others below are for readers, or begin a comparison of their own. */
const constraints = [
  "type",
  "const",
  "enum",
  "anyOf",
  "oneOf",
  "$ref",
  "properties",
  "required",
  "additionalProperties",
  "propertyNames",
  "maxProperties",
  "items",
  "prefixItems",
  "minItems",
  "maxItems",
  "minLength",
  "maxLength",
  "pattern",
  "format",
  "minimum",
  "maximum",
];
const annotations: ReadonlySet<string> = new Set(["description", "examples", "default"]);
const known: ReadonlySet<string> = new Set([...constraints, ...annotations]);

export const schemaOf = (value: unknown): Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};

export const namesOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];

/** The name of the shared schema that this one refers to, if it does. */
export function referenceOf({ $ref }: Schema): string | undefined {
  return typeof $ref === "string" ? $ref.split("/").at(-1) : undefined;
}

/**
 * The schemas of which a value must meet one, each with one type at most, and a single value instead of an
 * `enum`. A reference stays one. Throws for a keyword that the comparison does not know.
 */
export function branchesOf(schema: Schema): Schema[] {
  const unknown = Object.keys(schema).filter((name) => !known.has(name));
  if (unknown.length > 0)
    throw new Error(
      `The comparison of API documents does not know the keyword ${unknown.join(", ")}: teach it in test/release/api/.`,
    );
  const { anyOf, oneOf, enum: values, type, ...rest } = schema;
  // The members of a oneOf differ in a field with a single value, so at most one can be met.
  const members = anyOf ?? oneOf;
  if (Array.isArray(members)) {
    const name = anyOf === undefined ? "oneOf" : "anyOf";
    const beside = Object.keys(schema).filter((each) => each !== name && !annotations.has(each));
    if (beside.length > 0)
      throw new Error(`The comparison of API documents does not know ${name} beside ${beside.join(", ")}.`);
    return members.flatMap((each) => branchesOf(schemaOf(each)));
  }
  if (Array.isArray(values)) return values.map((value) => ({ const: value }));
  if ("const" in schema) return [{ const: schema["const"] }];
  if (Array.isArray(type)) return type.map((each) => ({ ...rest, type: each }));
  return [schema];
}
