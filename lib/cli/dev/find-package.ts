import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

export interface FoundPackage {
  folder: string;
  version: string;
  /** The path of its program of the same name; null if it has none. */
  program: string | null;
}

/** A package as Node finds it from a folder; null if it is not installed. */
export function findPackage(name: string, from: string): FoundPackage | null {
  const manifest = manifestOf(name, from);
  if (manifest === null) return null;
  const folder = path.dirname(manifest);
  const { version, bin }: { version?: unknown; bin?: unknown } = JSON.parse(readFileSync(manifest, "utf8"));
  const program: unknown = Reflect.get(Object(bin), name);
  return {
    folder,
    version: String(version),
    program: typeof program === "string" ? path.join(folder, program) : null,
  };
}

function manifestOf(name: string, from: string): string | null {
  try {
    return createRequire(path.join(from, "package.json")).resolve(`${name}/package.json`);
  } catch {
    return null;
  }
}

export const devMissing =
  "The package carillon-dev is not installed in this project: npm install --save-dev carillon-dev";
