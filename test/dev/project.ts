import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const root = path.join(import.meta.dirname, "..", "..");

/** The program of carillon-dev, as this repository has it. */
export const devProgram = path.join(root, "lib", "tools", "dev", "main.ts");

/** An app of its own, in a folder of its own, that has installed carillon-dev. */
export interface Project {
  folder: string;
  write(name: string, text: string): void;
  remove(): void;
}

/** `version`: that of its carillon-dev; null if it has none. */
export function newProject(
  files: Readonly<Record<string, string>>,
  version: string | null = "0.1.0",
): Project {
  const folder = mkdtempSync(path.join(tmpdir(), "carillon dev "));
  const write = (name: string, text: string) => {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  };
  write("package.json", '{ "name": "app", "type": "module" }');
  mkdirSync(path.join(folder, "node_modules"));
  for (const name of readdirSync(path.join(root, "node_modules")))
    if (!name.startsWith("."))
      symlinkSync(path.join(root, "node_modules", name), path.join(folder, "node_modules", name));
  if (version !== null) {
    const manifest = { name: "carillon-dev", version, type: "module", bin: { "carillon-dev": "dev.js" } };
    write("node_modules/carillon-dev/package.json", JSON.stringify(manifest));
    write("node_modules/carillon-dev/dev.js", `await import(${JSON.stringify(devProgram)});\n`);
  }
  for (const [name, text] of Object.entries(files)) write(name, text);
  return { folder, write, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A file of handlers: one that succeeds, and one whose error `words.ts` has. */
export const handlersFile = `
import { defineJob, type JobHandler } from "carillon/job";
import { words } from "./words.ts";

export const handlers: readonly JobHandler[] = [
  defineJob({ name: "speak", run: async (_job, { log }) => log.info("spoken") }),
  defineJob({ name: "fail", run: async () => { throw new Error(words); } }),
];
`;

export const wordsFile = (words: string) => `export const words = ${JSON.stringify(words)};\n`;

export function schedulesFile(...entries: readonly object[]): string {
  return `export const schedules = ${JSON.stringify(entries, null, 2)};\n`;
}
