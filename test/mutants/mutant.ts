import { readFileSync } from "node:fs";
import path from "node:path";

/** A safeguard that is taken out by replacing text in one file. */
export interface Mutant {
  /** What is taken out: unique in its area. */
  name: string;
  /** From the root of the repository. */
  file: string;
  /** Occurs once in the file. */
  text: string;
  replacement: string;
  /** Test files, one of which must fail. The nearest ones: a failure far away tells a reader little. */
  tests: readonly string[];
  /** Why no test can tell the mutant from the code, where that is so. */
  equivalent?: string;
}

export const repository = path.resolve(import.meta.dirname, "..", "..");

/** The file's text with the mutant in it. */
export function mutated({ name, file, text, replacement }: Mutant): string {
  const source = readFileSync(path.join(repository, file), "utf8");
  const places = source.split(text).length - 1;
  if (places !== 1)
    throw new Error(
      `The mutant "${name}" names a text that ${file} has ${places} times: it must be there once.`,
    );
  return source.replace(text, () => replacement);
}
