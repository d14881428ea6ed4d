import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { allowed } from "../lib/tools/prose/allowed.ts";
import { faultsIn, filesWithProse } from "../lib/tools/prose/check-prose.ts";

interface Riddle {
  file: string;
  line: string;
}

const root = path.join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(path.join(root, file), "utf8");
/** Sentences that the check has to find. A fixture, because the check reads this file too. */
const riddles: readonly Riddle[] = JSON.parse(read("test/fixtures/riddles.json"));

test("no comment, title or page has a wording that reads like a riddle: npm run lint", () => {
  expect(filesWithProse(root).flatMap((file) => faultsIn(file, read(file)))).toEqual([]);
});

test("every allowed sentence is still in use", () => {
  const texts = filesWithProse(root).map(read);
  expect(allowed.filter((sentence) => !texts.some((text) => text.includes(sentence)))).toEqual([]);
});

describe("the check of prose", () => {
  test.each(riddles)("the check of prose finds a riddle in $file: $line", ({ file, line }) => {
    expect(faultsIn(file, `\n${line}\n`)).toEqual([expect.stringMatching(/^a\.\w+:2: /)]);
  });

  test.each([
    ["a.ts", "/** Existing schedules, by key. */"],
    ["a.ts", 'const what = "What is owed"; const url = "https://nobody.example";'],
    ["a.ts", 'test("a renewed lease", () => {'],
    ["a.md", "```sh\n# Nobody waits.\n```"],
  ])("the check of prose accepts, in %s: %s", (file, text) => {
    expect(faultsIn(file, text)).toEqual([]);
  });
});
