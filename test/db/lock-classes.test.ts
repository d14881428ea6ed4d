import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { lockClasses } from "../../lib/db/locks.ts";

const root = path.resolve(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(path.join(root, file), "utf8");
const classes = Object.keys(lockClasses).map(Number);

test("Each class of advisory locks that a function of SQL takes is in the list of classes", () => {
  const taken = globSync("lib/**/sql/*.sql", { cwd: root }).flatMap((file) => {
    const text = read(file);
    return [
      ...text.matchAll(/advisory_xact_lock(?:_shared)?\((\d+),/g),
      ...text.matchAll(/take_seat\((\d+),/g),
    ].map(([, found]) => Number(found));
  });
  expect(new Set(taken).size).toBeGreaterThan(6);
  expect(taken.filter((each) => !classes.includes(each))).toEqual([]);
});

test("The query of the runbook has each class of advisory locks", () => {
  const [, listed = ""] = /foreign_locks\(array\[([\d, ]+)\]/.exec(read("docs/runbook.md")) ?? [];
  expect(listed.split(", ").map(Number)).toEqual(classes);
});
