import { expect, test } from "vitest";
import * as z from "zod";
import { isBounded } from "../../lib/job/bounded-schema.ts";

const recursive: z.ZodType = z.object({
  get inner() {
    return recursive.optional();
  },
});

test.each<[string, object]>([
  ["anything", z.unknown()],
  [
    "plain members and checks",
    z.strictObject({
      id: z.uuid(),
      at: z.iso.datetime(),
      count: z.number().int().positive().default(1),
      name: z.string().min(1).max(99).startsWith("x"),
      tags: z.array(z.enum(["a", "b"])).max(9),
      more: z.record(z.string(), z.union([z.null(), z.tuple([z.boolean(), z.literal(1)])])).optional(),
    }),
  ],
  [
    "a union by kind",
    z.discriminatedUnion("k", [z.object({ k: z.literal("a") }), z.looseObject({ k: z.literal("b") })]),
  ],
])("A schema of %s needs no time limit", (_, schema) => {
  expect(isBounded(schema)).toBe(true);
  expect(isBounded(schema)).toBe(true);
});

test.each<[string, object]>([
  ["an expression of the app's", z.object({ a: z.string().regex(/^(a+)+$/) })],
  ["an e-mail address, whose expression the app may give", z.object({ a: z.email({ pattern: /^(a+)+$/ }) })],
  ["a refinement", z.unknown().refine(() => true)],
  ["a refinement deep inside", z.object({ a: z.array(z.object({ b: z.number().refine(() => true) })) })],
  ["a check of the app's", z.object({}).superRefine(() => {})],
  ["a conversion", z.string().transform(Number)],
  ["a conversion before", z.preprocess((value) => value, z.string())],
  ["a conversion in place", z.string().overwrite((value) => value)],
  ["a kind of the app's", z.custom(() => true)],
  ["a fallback", z.string().catch(() => "")],
  ["a schema that is made lazily", z.lazy(() => z.string())],
  ["itself", recursive],
  ["no schema of zod", {}],
])("A schema with %s has a time limit", (_, schema) => {
  expect(isBounded(schema)).toBe(false);
});
