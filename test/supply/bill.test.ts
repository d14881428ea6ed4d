import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { billFaults, writeBill } from "../../lib/tools/supply/bill.ts";

const root = path.join(import.meta.dirname, "..", "..");
const listFile = path.join("lib", "tools", "supply", "packages.txt");
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "carillon-bill-"));
  mkdirSync(path.join(folder, path.dirname(listFile)), { recursive: true });
  for (const file of ["package.json", "package-lock.json", listFile])
    cpSync(path.join(root, file), path.join(folder, file));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function changeLockfile(change: (text: string) => string): void {
  const file = path.join(folder, "package-lock.json");
  writeFileSync(file, change(readFileSync(file, "utf8")));
}

test("the list of packages is that of the lockfile; if not, run npm run audit -- --write", async () => {
  expect(await billFaults(root)).toEqual([]);
});

test("the audit shows a package whose version or licence is another than in the list, until the list is written", async () => {
  // A package that others depend on by a range: npm refuses another version than package.json names.
  const [, entry = "", version = ""] =
    /("node_modules\/tslib": \{\s*"version": "(2[^"]+)"[^}]*?"license": "0BSD")/.exec(
      readFileSync(path.join(root, "package-lock.json"), "utf8"),
    ) ?? [];
  changeLockfile((whole) =>
    whole.replace(entry, entry.replace(version, "2.99.0").replace("0BSD", "GPL-3.0-only")),
  );
  expect(await billFaults(folder)).toEqual([
    expect.stringContaining("tslib@2.99.0 GPL-3.0-only is in the lockfile and not in the list"),
    expect.stringContaining(`tslib@${version} 0BSD is in the list and not in the lockfile`),
  ]);
  await writeBill(folder);
  expect(await billFaults(folder)).toEqual([]);
});

test("the audit of a folder without a list names every package", async () => {
  rmSync(path.join(folder, listFile));
  const packages = readFileSync(path.join(root, listFile), "utf8").trim().split("\n");
  expect(await billFaults(folder)).toHaveLength(packages.length);
});

test("the audit says so if npm cannot read the lockfile", async () => {
  changeLockfile(() => "{");
  await expect(billFaults(folder)).rejects.toThrow(/^npm sbom .* ended with 1: /);
});
