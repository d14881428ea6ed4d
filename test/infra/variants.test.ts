import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Settings, settingsShape } from "../../infra/settings.ts";
import { variants } from "./variants.ts";

const names = settingsShape.keyof().options;
const defaults = settingsShape.parse({});
const given = Object.values(variants).map((variant) => settingsShape.parse(variant));

/** The parts of a zod definition that may contain further schemas with choices. */
const wrapping = z
  .object({
    innerType: z.custom<z.core.$ZodType>(),
    in: z.custom<z.core.$ZodType>(),
    out: z.custom<z.core.$ZodType>(),
    element: z.custom<z.core.$ZodType>(),
    options: z.array(z.custom<z.core.$ZodType>()),
    entries: z.record(z.string(), z.string()),
  })
  .partial();

/** Every value of the enums in a setting's schema, at any depth. */
function choicesOf(schema: z.core.$ZodType): string[] {
  const {
    innerType,
    in: from,
    out: to,
    element,
    options = [],
    entries = {},
  } = wrapping.parse(schema._zod.def);
  const below = [innerType, from, to, element, ...options].filter((each) => each !== undefined);
  return [...Object.values(entries), ...below.flatMap(choicesOf)];
}

function valuesOf(name: keyof Settings): string[] {
  return given.flatMap((settings) => settings[name] ?? []).map(String);
}

describe("the variants", () => {
  test.each(names)("the variants give %s another value than its default", (name) => {
    expect(given.map((settings) => settings[name])).toContainEqual(
      expect.not.toSatisfy((value: unknown) => JSON.stringify(value) === JSON.stringify(defaults[name])),
    );
  });

  const choosing = names.filter((name) => choicesOf(settingsShape.shape[name]).length > 0);

  test.each(choosing)("the variants use each choice that %s offers", (name) => {
    expect(valuesOf(name)).toEqual(expect.arrayContaining(choicesOf(settingsShape.shape[name])));
  });

  test("the variants have known choices, which proves that the search for choices works", () => {
    expect(choosing).toEqual(expect.arrayContaining(["database", "tickBy", "endpoints", "dashboard"]));
    expect(choicesOf(settingsShape.shape.endpoints)).toEqual([
      "sqs",
      "events",
      "lambda",
      "secretsmanager",
      "dynamodb",
      "s3",
    ]);
  });
});
