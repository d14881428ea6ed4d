import { isDeepStrictEqual } from "node:util";
import * as z from "zod";

export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** JSON Schemas made from the shapes. Shapes with a name are collected as components. */
export interface Schemas {
  /** `input` describes the value as callers send it, before any transformation. */
  of(shape: z.ZodType, io: "input" | "output"): JsonSchema;
  components(): Record<string, JsonSchema>;
}

const noNul = "^[^\\u0000]*$";

export function makeSchemas(): Schemas {
  const components = new Map<string, JsonSchema>();
  return {
    of: (shape, io) => {
      const { $schema: _, $defs = {}, ...json } = asJsonSchema(shape, io);
      for (const [name, schema] of Object.entries($defs)) {
        const known = components.get(name);
        if (known !== undefined && !isDeepStrictEqual(known, schema))
          throw new Error(`Two shapes have the name ${name} in the OpenAPI document.`);
        components.set(name, schema);
      }
      return json;
    },
    components: () => Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

function asJsonSchema(shape: z.ZodType, io: "input" | "output"): JsonSchema {
  const made = z.toJSONSchema(shape, {
    io,
    target: "draft-2020-12",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => amend(zodSchema, jsonSchema),
  });
  // Schemas with a name are components of the document, so references lead there.
  return JSON.parse(JSON.stringify(made).replaceAll('"#/$defs/', '"#/components/schemas/'));
}

/**
 * Adds the metadata of the shapes that JSON Schema lacks, and defaults that the generator leaves
 * out.
 */
function amend(shape: z.core.$ZodType, json: JsonSchema): void {
  const { def } = shape._zod;
  // The generator omits the default wherever a shape transforms its value; our defaults are all
  // JSON.
  if (def.type === "default" && json.default === undefined && "defaultValue" in def)
    Object.assign(json, { default: def.defaultValue });
  if (json["storable"] === true && json.pattern === undefined) json.pattern = noNul;
  delete json["storable"];
  const other = json["insteadOf"];
  if (typeof other !== "object" || other === null) return;
  const { description } = json;
  for (const name of Object.keys(json)) delete json[name];
  Object.assign(json, other, description === undefined ? {} : { description });
}
