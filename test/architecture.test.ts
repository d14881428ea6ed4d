import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";

const root = path.join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(path.join(root, file), "utf8");
const pages = ["README.md", ...globSync("docs/*.md", { cwd: root })];
const sqlFiles = globSync("lib/**/sql/*.sql", { cwd: root });

const filesNamedIn = (text: string) =>
  [...text.matchAll(/(?<![\w./-])(?:lib|functions|infra|test|migrations)\/[\w./-]*\.(?:tsx?|sql|md)\b/g)].map(
    ([file]) => file,
  );

describe("links to files", () => {
  test.each(pages)("every file that %s names exists", (page) => {
    expect(filesNamedIn(read(page)).filter((file) => !existsSync(path.join(root, file)))).toEqual([]);
  });

  test("every file that the contract of an SQL function names exists", () => {
    const missing = sqlFiles.flatMap((sql) =>
      filesNamedIn(read(sql)).flatMap((file) =>
        existsSync(path.join(root, file)) ? [] : [`${sql}: ${file}`],
      ),
    );
    expect(missing).toEqual([]);
  });
});

describe("docs/architecture.md", () => {
  const page = read("docs/architecture.md");

  test("docs/architecture.md names the files of at least thirty behaviours", () => {
    const section = /## Where to find\n([\s\S]*?)\n## /.exec(page)?.[1] ?? "";
    const rows = section.split("\n").filter((line) => filesNamedIn(line).length > 0);
    expect(rows.length).toBeGreaterThanOrEqual(30);
  });

  test("docs/architecture.md names every room of lib/, and every migration that makes tables", () => {
    const rooms = globSync("lib/*/", { cwd: root }).map((room) => path.basename(room));
    const named = /## Rooms\n([\s\S]*)$/.exec(page)?.[1] ?? "";
    // lib/lane has only SQL functions, which lib/parcel calls, so no import needs it.
    expect(rooms.filter((room) => room !== "lane" && !named.includes(`\`${room}\``))).toEqual([]);
    const withTables = globSync("migrations/*.sql", { cwd: root }).filter((file) =>
      /^create table /m.test(read(file)),
    );
    expect(withTables.filter((file) => !page.includes(file))).toEqual([]);
  });
});
