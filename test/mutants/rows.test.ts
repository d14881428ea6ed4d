import { existsSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { areas } from "./areas.ts";
import { mutated, repository } from "./mutant.ts";

const rows = Object.entries(areas).flatMap(([area, mutants]) => mutants.map((mutant) => ({ area, mutant })));

test("every mutant applies to the code as it is", () => {
  for (const { mutant } of rows) expect(mutated(mutant), mutant.name).not.toContain(`${mutant.text}\0`);
});

test("every mutant changes the code and names tests that exist", () => {
  for (const { mutant } of rows) {
    expect(mutant.replacement, mutant.name).not.toBe(mutant.text);
    expect(mutant.tests, mutant.name).not.toEqual([]);
    for (const file of mutant.tests) expect(existsSync(path.join(repository, file)), file).toBe(true);
  }
});

test("every mutant has a name of its own", () => {
  const names = rows.map(({ mutant }) => mutant.name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});
