import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { areas } from "./areas.ts";
import { mutated, mutatedFiles, repository } from "./mutant.ts";

const rows = Object.entries(areas).flatMap(([area, mutants]) => mutants.map((mutant) => ({ area, mutant })));

test("every mutant's text occurs once in the present code", () => {
  for (const { mutant } of rows) expect(mutated(mutant), mutant.name).not.toContain(`${mutant.text}\0`);
});

test("a mutant of a function changes the migration that creates it", async () => {
  const mutant = rows.find(({ mutant: { file } }) => file === "lib/parcel/sql/claim_parcel.sql")?.mutant;
  if (mutant === undefined) throw new Error("No mutant of carillon.claim_parcel.");
  const files = await mutatedFiles(mutant);
  expect([...files.keys()]).toEqual([mutant.file, expect.stringMatching(/^migrations\/\d{4}-.*\.sql$/)]);
  for (const [file, text] of files) {
    const before = readFileSync(path.join(repository, file), "utf8");
    expect(text, file).not.toBe(before);
    expect(text.length - before.length, file).toBe(mutant.replacement.length - mutant.text.length);
  }
});

test("every mutant of SQL is of a file in lib/ or of a table", () => {
  const inCopies = rows.filter(({ mutant: { file } }) => /^migrations\/.*-functions\.sql$/.test(file));
  expect(inCopies.map(({ mutant }) => mutant.name)).toEqual([]);
});

test("every mutant changes the code and names tests that exist", () => {
  for (const { mutant } of rows) {
    expect(mutant.replacement, mutant.name).not.toBe(mutant.text);
    expect(mutant.tests, mutant.name).not.toEqual([]);
    for (const file of mutant.tests) expect(existsSync(path.join(repository, file)), file).toBe(true);
  }
});

test("every mutant has a unique name", () => {
  const names = rows.map(({ mutant }) => mutant.name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});
