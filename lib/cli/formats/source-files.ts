import { readdir, stat } from "node:fs/promises";
import path from "node:path";
import type { Call } from "../command.ts";
import { UsageFault } from "../fault.ts";

export interface SourceFile {
  /** Relative to the source, with `/`; for a single file its own name. */
  name: string;
  text: string;
  isStdin: boolean;
}

export interface Source {
  files: SourceFile[];
  isDirectory: boolean;
}

/**
 * Reads a file, `-` for stdin, or the files of a directory at any depth that `takes` accepts,
 * ordered by name. Hidden files are left out.
 */
export async function readSource(
  { read }: Pick<Call, "read">,
  source: string,
  takes: (name: string) => boolean,
): Promise<Source> {
  if (source === "-")
    return { files: [{ name: "stdin", text: await read("-"), isStdin: true }], isDirectory: false };
  if (!(await isDirectory(source)))
    return {
      files: [{ name: path.basename(source), text: await read(source), isStdin: false }],
      isDirectory: false,
    };
  const files: SourceFile[] = [];
  for (const name of await namesIn(source))
    if (takes(name)) files.push({ name, text: await read(path.join(source, name)), isStdin: false });
  return { files, isDirectory: true };
}

/** Relative to the folder, with `/`. Hidden files are left out. */
async function namesIn(folder: string): Promise<string[]> {
  const names: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.name.startsWith(".")) continue;
    if (!entry.isDirectory()) names.push(entry.name);
    else for (const name of await namesIn(path.join(folder, entry.name))) names.push(`${entry.name}/${name}`);
  }
  return names.sort();
}

async function isDirectory(source: string): Promise<boolean> {
  try {
    return (await stat(source)).isDirectory();
  } catch (error) {
    throw new UsageFault(
      `${source} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
