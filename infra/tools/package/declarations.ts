import { cpSync, readFileSync } from "node:fs";
import path from "node:path";

/**
 * Copies the declarations of these sources, and those that they import. The compiler declares every
 * file of the program, and most of them are no part of a package's types.
 */
export function copyDeclarations(from: string, to: string, sources: readonly string[]): void {
  const seen = new Set<string>();
  const copy = (file: string) => {
    if (seen.has(file)) return;
    seen.add(file);
    cpSync(path.join(from, file), path.join(to, file));
    const text = readFileSync(path.join(from, file), "utf8");
    for (const [, name = ""] of text.matchAll(/(?:from |import |import\()"(\.[^"]+)"/g))
      copy(path.join(path.dirname(file), declarationOf(name)));
  };
  for (const source of sources) copy(declarationOf(source));
}

const declarationOf = (module: string) => module.replace(/\.[jt]s$/, ".d.ts");
