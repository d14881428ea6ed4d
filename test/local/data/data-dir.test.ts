import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openDataDir } from "../../../lib/tools/local/data-dir.ts";

function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), "carillon-data-"));
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
}

test("A data directory that is a file is refused as one, with the option that names another", () => {
  const file = path.join(folder(), "data");
  writeFileSync(file, "");
  expect(() => openDataDir(file, "--data")).toThrow(
    `The data directory ${file} is a file. Name a directory with --data; one that does not exist is made.`,
  );
});

test("A data directory whose lock cannot be opened is named, with what to do", () => {
  const made = folder();
  mkdirSync(path.join(made, "lock"));
  expect(() => openDataDir(made)).toThrow(
    `The data directory ${made} cannot be used (unable to open database file). Let your user read and write it, or name another directory with CARILLON_DATA_DIR.`,
  );
});

test("A second start on a data directory names the process of the first, and how to end it", () => {
  const made = folder();
  const first = openDataDir(made);
  expect(() => openDataDir(made, "--data")).toThrow(
    `Another Carillon is running on the data directory ${made}. Stop it first: Ctrl-C in its terminal, or kill ${process.pid}, or set another directory with --data.`,
  );
  first.release();
  openDataDir(made).release();
});
