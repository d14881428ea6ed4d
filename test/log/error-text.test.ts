import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { errorText, loggableError } from "../../lib/log/error-text.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

const canary = "cAnArY-7f3a";

let database: TestDatabase;
let sql: Sql;

beforeAll(async () => {
  database = await testDatabase();
  sql = connect({ DATABASE_URL: database.url });
});

afterAll(async () => {
  await sql.end();
  await database.drop();
});

const errorOf = async (act: () => unknown): Promise<unknown> => {
  try {
    await act();
  } catch (error) {
    return error;
  }
  throw new Error("It did not fail.");
};

describe("the text of an error in a log", () => {
  const faults: [string, RegExp, () => unknown][] = [
    [
      "a value that does not fit",
      /22P02 invalid input syntax for type bigint/,
      () => sql.unsafe(`select '${canary}'::bigint`),
    ],
    ["a value out of range", /22/, () => sql.unsafe(`select '${canary}'::date`)],
    [
      "a row that exists already",
      /23505 .*"tokens_/,
      () =>
        sql.unsafe(`insert into carillon.tokens (id, hash, name, scope, created_at, created_by)
        select gen_random_uuid(), '${canary}'::bytea, 'x', 'read', now(), 'x' from generate_series(1, 2)`),
    ],
    [
      "an exception that a function raises",
      /P0001/,
      () => sql.unsafe(`do $$ begin raise exception 'not "${canary}"'; end $$`),
    ],
    ["a column that does not exist", /42703 column "nothing" does not exist/, () => sql`select nothing`],
    ["text that is no JSON", /SyntaxError/, () => JSON.parse(`{"a": ${canary}}`)],
    ["a shape that does not fit", /ZodError/, () => z.strictObject({}).parse({ [canary]: 1 })],
    ["a thrown text", /a string was thrown/, () => Promise.reject(canary)],
    [
      "an aggregate",
      /AggregateError: PostgresError: 22P02.*SyntaxError/,
      async () => {
        const one = await errorOf(() => sql.unsafe(`select '${canary}'::int`));
        throw new AggregateError([one, await errorOf(() => JSON.parse(canary))], canary);
      },
    ],
  ];

  test.each(faults)("%s", async (_, text, act) => {
    const error = await errorOf(act);
    expect(errorText(error)).toMatch(text);
    const loggable = loggableError(error);
    const everything = `${errorText(error)} ${loggable.message} ${loggable.stack} ${JSON.stringify(loggable)}`;
    expect(everything).not.toContain(canary);
  });

  test("the text of an error is one line of bounded length, and the stack is kept apart", () => {
    const error = new Error(`a\nb\u2028c ${"x".repeat(5_000)}`);
    expect(errorText(error)).toMatch(/^Error: a b c x{900,1000}$/);
    expect(loggableError(error).stack).toContain("error-text.test.ts");
  });
});

/** A tree of errors with this depth and width, and a text at each leaf. */
function tree(depth: number, width: number): Error {
  if (depth === 0) return new Error("leaf");
  return new AggregateError(Array.from({ length: width }, () => tree(depth - 1, width)));
}

const holdingItself = (times: number) => {
  const error = new AggregateError([]);
  for (let each = 0; each < times; each++) error.errors.push(error);
  return error;
};

const wide = () => new AggregateError(Array.from({ length: 1_000 }, () => new Error("leaf")));

const readOf = (text: string) => text.split(/Error: /).length - 1;

test.each([
  ["holds itself", () => holdingItself(1)],
  ["holds itself many times", () => holdingItself(1_000)],
  ["is a deep tree", () => tree(12, 2)],
  ["is a wide tree", () => tree(3, 10)],
  ["is a list of a thousand", wide],
])("The text of an error that %s is of a bounded length, and has about twenty errors at most", (_, make) => {
  const text = errorText(make());
  expect(text.length).toBeLessThanOrEqual(1_000);
  expect(readOf(text)).toBeLessThanOrEqual(21);
  expect(readOf(text)).toBeGreaterThan(1);
});

test("An error that cannot be read does not hide the other errors of its list", () => {
  const odd = new Proxy(new Error("odd"), {
    get: () => {
      throw new Error("no");
    },
  });
  expect(errorText(new AggregateError([odd, new Error("leaf")]))).toBe(
    "AggregateError: an error that cannot be read; Error: leaf",
  );
});

test("no line of the log gets an error without errorText", () => {
  const root = path.resolve(import.meta.dirname, "../..");
  const files = ["lib", "functions"].flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => path.join(folder, file)),
  );
  const raw = files.filter((file) => {
    const text = readFileSync(path.join(root, file), "utf8");
    return [...text.matchAll(/\blog\.(?:info|warn|error)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)/g)].some(
      ([call]) => /\bString\(|\.message\b|\.stack\b|\$\{error/.test(call),
    );
  });
  expect(raw).toEqual([]);
});
