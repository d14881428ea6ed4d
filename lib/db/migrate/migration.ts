import { readdir, readFile } from "node:fs/promises";

/**
 * How a migration is run: as one transaction; or statement by statement outside of any, for what Postgres does not do inside; or as one
 * statement that does a portion, each in a transaction of its own, until it has none left.
 */
export type MigrationKind = "transaction" | "outside" | "batches";

export interface Migration {
  number: number;
  name: string;
  text: string;
  kind: MigrationKind;
  /** The last migration that the oldest release knows whose functions work with the tables as this one leaves them; null: none older does. */
  backTo: number | null;
}

export const migrationsDirectory: URL = new URL("../../../migrations/", import.meta.url);

/** The migrations of this checkout or bundle, in order. */
export async function readMigrations(directory: URL | string): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".sql")).sort();
  const base = directory instanceof URL ? directory : new URL(`file://${directory}/`);
  return Promise.all(
    names.map(async (name, index) => {
      const number = Number(name.slice(0, 4));
      if (number !== index + 1)
        throw new Error(`Migration ${name} is out of order: number ${index + 1} was expected.`);
      return migrationFrom(number, name.slice(5, -4), await readFile(new URL(name, base), "utf8"));
    }),
  );
}

const directive = /^-- carillon: *(.*?) *$/gm;

/** Reads what its lines `-- carillon: …` say of it. */
export function migrationFrom(number: number, name: string, text: string): Migration {
  const migration: Migration = { number, name, text, kind: "transaction", backTo: null };
  for (const [, words = ""] of text.matchAll(directive)) {
    const backTo = /^back to (\d+)$/.exec(words)?.[1];
    if (backTo !== undefined) migration.backTo = Number(backTo);
    else if (words === "outside a transaction") migration.kind = "outside";
    else if (words === "in batches") migration.kind = "batches";
    else {
      throw new Error(
        `Migration ${number} (${name}) says "${words}" of itself; it may say "back to" and a number, "outside a transaction" or "in batches".`,
      );
    }
  }
  return migration;
}
