import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { strFromU8, unzipSync } from "fflate";
import { afterEach, expect, test } from "vitest";
import { zipFolder } from "../../../infra/tools/template/zip-folder.ts";
import { runNode } from "../../support/run-node.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function folderWith(files: readonly (readonly [name: string, text: string])[], modified: Date): string {
  const folder = mkdtempSync(path.join(tmpdir(), "carillon-zip-"));
  folders.push(folder);
  for (const [name, text] of files) {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
    utimesSync(file, modified, modified);
  }
  return folder;
}

const files = [
  ["index.mjs", "export const handler = 1;"],
  ["migrations/0002.sql", "select 2;"],
  ["migrations/0001.sql", "select 1;"],
] as const;

test("the same files give the same bytes, whatever their order and their times", () => {
  const one = zipFolder(folderWith(files, new Date("2001-02-03T04:05:06Z")));
  const other = zipFolder(folderWith(files.toReversed(), new Date("2026-07-08T09:10:11Z")));
  expect(Buffer.from(one).equals(other)).toBe(true);
  const changed = zipFolder(
    folderWith([["index.mjs", "export const handler = 2;"], ...files.slice(1)], new Date()),
  );
  expect(Buffer.from(one).equals(changed)).toBe(false);
});

test("the bytes of a zip do not depend on the time zone", async () => {
  const folder = folderWith(files, new Date());
  const module = `
    import { zipFolder } from ${JSON.stringify(path.join(import.meta.dirname, "../../../infra/tools/template/zip-folder.ts"))};
    console.log(Buffer.from(zipFolder(${JSON.stringify(folder)})).toString("base64"));`;
  const zips = ["Pacific/Kiritimati", "America/Los_Angeles"].map((TZ) => runNode(module, { TZ }));
  const [one, other] = await Promise.all(zips);
  expect(one).toBe(other);
  expect(one).toBe(Buffer.from(zipFolder(folder)).toString("base64"));
});

test("a zip holds the files of folders by their paths, in order", () => {
  const held = unzipSync(zipFolder(folderWith(files, new Date())));
  expect(Object.keys(held)).toEqual(["index.mjs", "migrations/0001.sql", "migrations/0002.sql"]);
  expect(strFromU8(held["migrations/0002.sql"] ?? new Uint8Array())).toBe("select 2;");
});
