import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Carillon, carillon } from "../support/carillon.ts";
import { faults, secrets } from "./error-corpus.ts";

let world: Carillon;

beforeAll(async () => {
  world = await carillon();
});

afterAll(() => world.stop());

async function normalised(texts: readonly (string | null)[]): Promise<string[]> {
  const rows = await world.sql<{ text: string }[]>`
    select carillon.normalised_error(t.text) as text from unnest(${[...texts]}::text[]) with ordinality t (text, n) order by t.n`;
  return rows.map(({ text }) => text);
}

describe("the normalised text of an error", () => {
  test("texts of one fault with other data have one normalised text", async () => {
    const expected = faults.flatMap((fault) => fault.texts.map((text) => [text, fault.normalised]));
    const texts = expected.map(([text = ""]) => text);
    const got = await normalised(texts);
    expect(texts.map((text, index) => [text, got[index]])).toEqual(expected);
  });

  test("different faults have different normalised texts", () => {
    const texts = faults.map((fault) => fault.normalised);
    expect(new Set(texts).size).toBe(texts.length);
  });

  test("a normalised text holds no secret of the error", async () => {
    for (const [text, secret] of secrets) expect((await normalised([text]))[0], text).not.toContain(secret);
  });

  test("a normalised text has at most 200 characters, and an error without a text has an empty one", async () => {
    const long = `${"word ".repeat(1_000)}17`;
    const [cut = "", none] = await normalised([long, null]);
    expect(cut.length).toBeLessThanOrEqual(200);
    expect(none).toBe("");
  });

  test("an error of odd characters is normalised", async () => {
    const odd = [
      "\u0001 17 \u0001",
      '"',
      "'",
      "\\",
      "<n>",
      "日本 12 語",
      "a".repeat(10_000),
      "1".repeat(10_000),
    ];
    expect(await normalised(odd)).toEqual([
      "<n>",
      "<text>",
      "'",
      "\\",
      "<n>",
      "日本 <n> 語",
      "a".repeat(200),
      "<id>",
    ]);
  });
});
