import { readFileSync } from "node:fs";
import path from "node:path";
import { migrationsDirectory, readMigrations } from "../../lib/db/migrate/migration.ts";
import { lastDefinitions } from "../../lib/tools/migration/copied-functions.ts";

/** A safeguard that is removed by replacing text in one file. */
export interface Mutant {
  /** The rule that the safeguard keeps; unique. */
  name: string;
  /**
   * Relative to the root of the repository. A function of the database is named by its file in
   * lib/.
   */
  file: string;
  /** Occurs exactly once in the file. */
  text: string;
  replacement: string;
  /**
   * Test files, one of which must fail. Choose the nearest ones: a distant failure explains little.
   */
  tests: readonly string[];
  /** The reason why no test can distinguish the mutant from the code, if that is so. */
  equivalent?: string;
}

export const repository = path.resolve(import.meta.dirname, "..", "..");

/** The file's text with the mutation. */
export function mutated({ name, file, text, replacement }: Mutant): string {
  const source = readFileSync(path.join(repository, file), "utf8");
  const places = source.split(text).length - 1;
  if (places !== 1)
    throw new Error(
      `The mutant "${name}" names a text that ${file} has ${places} times: it must be there once.`,
    );
  return source.replace(text, () => replacement);
}

const homeFile = /^lib\/.*\/sql\/(\w+)\.sql$/;

/**
 * The texts of the files to write for the mutant, by path. Migrations create the database, so a
 * function is also changed in the migration with its copy.
 */
export async function mutatedFiles(mutant: Mutant): Promise<Map<string, string>> {
  const text = mutated(mutant);
  const files = new Map([[mutant.file, text]]);
  const name = homeFile.exec(mutant.file)?.[1];
  if (name === undefined) return files;
  const migration = lastDefinitions(await readMigrations(migrationsDirectory)).get(name);
  const home = readFileSync(path.join(repository, mutant.file), "utf8");
  if (migration?.text.includes(home) !== true)
    throw new Error(`No migration has carillon.${name} as it is in ${mutant.file}: npm run migration.`);
  const file = `migrations/${String(migration.number).padStart(4, "0")}-${migration.name}.sql`;
  return files.set(
    file,
    migration.text.replace(home, () => text),
  );
}
