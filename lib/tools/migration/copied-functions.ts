import type { Migration } from "../../db/migrate/migration.ts";
import { sqlPieces } from "../../db/sql-text.ts";
import type { FunctionHome } from "./function-homes.ts";

const created = /^create (?:or replace )?function carillon\.(\w+)/;
const dropped = /^drop function (?:if exists )?carillon\.(\w+)/;

/** The last migration that defines each function of the database. */
export function lastDefinitions(migrations: readonly Migration[]): Map<string, Migration> {
  const last = new Map<string, Migration>();
  for (const migration of migrations) {
    for (const { text } of sqlPieces(migration.text)) {
      const definition = created.exec(text)?.[1];
      if (definition !== undefined) last.set(definition, migration);
      const drop = dropped.exec(text)?.[1];
      if (drop !== undefined) last.delete(drop);
    }
  }
  return last;
}

/**
 * Functions whose last copy in the migrations differs from their file, and functions without a
 * copy.
 */
export function changedFunctions(
  homes: readonly FunctionHome[],
  migrations: readonly Migration[],
): FunctionHome[] {
  const last = lastDefinitions(migrations);
  return homes.filter(({ name, text }) => last.get(name)?.text.includes(text) !== true);
}

/** Functions in the database, by the migrations, that have no file in lib/. */
export function homelessFunctions(
  homes: readonly FunctionHome[],
  migrations: readonly Migration[],
): string[] {
  const names = new Set(homes.map(({ name }) => name));
  return [...lastDefinitions(migrations).keys()].filter((name) => !names.has(name)).sort();
}
