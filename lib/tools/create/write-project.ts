import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Fault } from "./fault.ts";
import type { ProjectFile } from "./template.ts";

/** Files of a creation that was killed; the next one removes them. */
const unfinished = ".create-carillon";

/** Throws unless the folder is new, or has nothing in it but what git keeps there. */
export function checkFolder(folder: string): void {
  const entry = entriesOf(folder)?.find((name) => name !== ".git" && name !== unfinished);
  if (entry !== undefined)
    throw new Fault(
      `${folder} is not empty: ${entry} is in it. A project needs a new folder, or one with nothing but .git in it.`,
    );
}

/**
 * Writes the files into a folder beside the project's, which is then renamed: a creation that is killed
 * leaves no project with half of its files. In a folder that exists each entry is moved by itself,
 * because a shell that stands in the folder would be left in a deleted one.
 */
export function writeProject(folder: string, files: readonly ProjectFile[]): void {
  const exists = entriesOf(folder) !== undefined;
  const beside = path.join(path.dirname(folder), `.${path.basename(folder)}${unfinished}`);
  const staged = exists ? path.join(folder, unfinished) : beside;
  rmSync(staged, { recursive: true, force: true });
  try {
    for (const { place, text } of files) {
      const file = path.join(staged, place);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    if (exists)
      for (const name of readdirSync(staged)) renameSync(path.join(staged, name), path.join(folder, name));
    else renameSync(staged, folder);
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

/** The names in a folder; undefined if there is none. */
function entriesOf(folder: string): string[] | undefined {
  try {
    return readdirSync(folder);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT") return undefined;
    if (code === "ENOTDIR") throw new Fault(`${folder} is a file. A project needs a new or empty folder.`);
    throw error;
  }
}
