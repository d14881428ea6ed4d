import { readFileSync } from "node:fs";
import path from "node:path";
import { brotliCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { builtPage } from "../page/built-page.ts";

/** The most that is loaded before the first view can be used. */
const most = 180_000;

/** The files that a document or a module loads before it runs: links, scripts and static imports. */
const loaded = /(?:src|href)="\.\/([^"]+)"|(?:\bfrom|\bimport)\s*"\.\/([^"]+)"/g;

test("The first view needs at most 180 kB, compressed", async () => {
  const folder = await builtPage();
  const sizes = new Map<string, number>();
  const add = (file: string) => {
    if (sizes.has(file)) return;
    const bytes = readFileSync(path.join(folder, file));
    sizes.set(file, brotliCompressSync(bytes).length);
    if (!/\.(html|js)$/.test(file)) return;
    for (const [, linked, imported] of bytes.toString().matchAll(loaded)) {
      const name = linked ?? imported ?? "";
      add(path.posix.join(path.posix.dirname(file), name));
    }
  };
  add("index.html");
  expect([...sizes.keys()].filter((file) => file.endsWith(".js")).length).toBeGreaterThan(2);
  const sum = [...sizes.values()].reduce((all, size) => all + size, 0);
  expect(sum, JSON.stringify([...sizes])).toBeLessThan(most);
});
