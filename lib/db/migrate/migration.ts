import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";

/**
 * How a migration runs. `transaction`: as one transaction. `outside`: statement by statement
 * outside of any transaction, for statements that Postgres does not allow inside. `batches`: as one
 * statement that changes a batch of rows, and is repeated in a new transaction until no rows are
 * left.
 */
export type MigrationKind = "transaction" | "outside" | "batches";

export interface Migration {
  number: number;
  name: string;
  text: string;
  /** The digest of the statements, so that another comment is no other migration. */
  digest: string;
  kind: MigrationKind;
  /**
   * The oldest release whose functions work with the tables after this migration, as the number of
   * the last migration that it knows. Null: no older release.
   */
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

function digestOf(text: string): string {
  const lines = text.split("\n").map((line) => line.trim());
  const statements = lines.filter((line) => line !== "" && !line.startsWith("--"));
  return createHash("sha256").update(statements.join("\n")).digest("hex");
}

const directive = /^-- carillon: *(.*?) *$/gm;

/** Reads the lines `-- carillon: …` of a migration. */
export function migrationFrom(number: number, name: string, text: string): Migration {
  const digest = digestOf(text);
  const migration: Migration = { number, name, text, digest, kind: "transaction", backTo: null };
  for (const [, words = ""] of text.matchAll(directive)) {
    const backTo = /^back to (\d+)$/.exec(words)?.[1];
    if (backTo !== undefined) migration.backTo = Number(backTo);
    else if (words === "outside a transaction") migration.kind = "outside";
    else if (words === "in batches") migration.kind = "batches";
    else {
      throw new Error(
        `Migration ${number} (${name}) has the line "-- carillon: ${words}"; allowed are "back to" and a number, "outside a transaction" and "in batches".`,
      );
    }
  }
  return migration;
}
