import { describe, expect, test } from "vitest";
import * as z from "zod";
import { shapeFaults } from "../../lib/schedule/shape/shape-faults.ts";

function messagesOf(schema: z.ZodType, input: unknown): string[] {
  const read = schema.safeParse(input, { reportInput: true });
  return read.success ? [] : shapeFaults(read.error).map(({ message }) => message);
}

describe("a fault has Carillon's own words", () => {
  test.each<[string, z.ZodType, unknown]>([
    ["is required", z.object({ a: z.string() }), {}],
    ["is required", z.object({ a: z.enum(["x", "y"]) }), {}],
    ["takes a string, not an object", z.string(), {}],
    ["takes an object, not a list", z.object({}), []],
    ["takes a list, not true", z.array(z.string()), true],
    ["takes a whole number", z.int(), 1.5],
    ['takes "x" or "y"', z.enum(["x", "y"]), "z"],
    ["takes true", z.literal(true), false],
    ["takes at least 1 character", z.string().min(1), ""],
    ["takes at most 2 items", z.array(z.number()).max(2), [1, 2, 3]],
    ["is at least 1", z.number().min(1), 0],
    ["is more than 0", z.number().positive(), 0],
    ["is a multiple of 5 only", z.number().multipleOf(5, "is a multiple of 5 only"), 6],
    ["is not a multiple of 5", z.number().multipleOf(5), 6],
    ["is not a UUID", z.uuid(), "x"],
    ["is not an instant such as 2026-12-01T09:00:00Z", z.iso.datetime(), "x"],
    ["takes a string or a list", z.union([z.string(), z.array(z.string())]), 1],
    ["has none of the allowed forms", z.union([z.uuid(), z.url()]), ""],
    ["is not understood", z.string().refine(() => false), ""],
  ])("the fault of a schema is worded: %s", (message, schema, input) => {
    const said = messagesOf(schema, input);
    expect(said).toEqual([message]);
  });

  test("the messages of a handler's schema stay unchanged", () => {
    expect(messagesOf(z.string("Invalid card"), 1)).toEqual(["Invalid card"]);
    expect(messagesOf(z.string().min(3, "Too small: a card"), "")).toEqual(["Too small: a card"]);
  });
});
