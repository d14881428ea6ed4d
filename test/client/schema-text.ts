import * as z from "zod";

const schemaShape = z.looseObject({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  anyOf: z.array(z.unknown()).optional(),
  oneOf: z.array(z.unknown()).optional(),
  allOf: z.array(z.unknown()).optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).default([]),
  additionalProperties: z.unknown().optional(),
  items: z.unknown().optional(),
  prefixItems: z.array(z.unknown()).optional(),
});

type Schema = z.output<typeof schemaShape>;

/** The TypeScript type of values that match a JSON Schema, without formats and bounds. */
export function typeText(schema: unknown, find: (reference: string) => unknown): string {
  if (schema === true) return "any";
  // A recursive schema, such as that of JSON, becomes `any`.
  const read = schemaShape.parse(schema);
  const text = (inner: unknown) => typeText(inner, find);
  const union = (all: readonly unknown[]) => all.map((each) => `(${text(each)})`).join(" | ");
  if (read.$ref !== undefined) {
    const found = find(read.$ref);
    return JSON.stringify(found).includes(`"${read.$ref}"`) ? "any" : text(found);
  }
  if (read.const !== undefined) return JSON.stringify(read.const);
  if (read.enum !== undefined) return read.enum.map((each) => JSON.stringify(each)).join(" | ");
  const alternatives = read.anyOf ?? read.oneOf;
  if (alternatives !== undefined) return union(alternatives);
  if (read.allOf !== undefined) return read.allOf.map((each) => `(${text(each)})`).join(" & ");
  const types = [read.type ?? []].flat();
  if (types.length === 0) return read.properties === undefined ? "any" : objectText(read, text);
  return types.map((type) => `(${typedText(type, read, text)})`).join(" | ");
}

function typedText(type: string, schema: Schema, text: (inner: unknown) => string): string {
  switch (type) {
    case "integer":
    case "number":
      return "number";
    case "array": {
      const { prefixItems, items } = schema;
      if (prefixItems !== undefined) return `[${prefixItems.map(text).join(", ")}]`;
      return `(${items === undefined ? "any" : text(items)})[]`;
    }
    case "object":
      return objectText(schema, text);
    default:
      return type;
  }
}

function objectText(
  { properties, additionalProperties, required }: Schema,
  text: (inner: unknown) => string,
): string {
  const members = Object.entries(properties ?? {}).map(
    ([name, inner]) => `${JSON.stringify(name)}${required.includes(name) ? "" : "?"}: ${text(inner)};`,
  );
  if (members.length > 0) return `{ ${members.join(" ")} }`;
  const values = typeof additionalProperties === "object" ? text(additionalProperties) : "any";
  return additionalProperties === false ? "{}" : `{ [name: string]: ${values} }`;
}
