import { glob, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { hiddenSql } from "../../db/sql-text.ts";

export const repository: string = fileURLToPath(new URL("../../..", import.meta.url));

/**
 * A function of the database, in the only file where it is edited. Migrations hold copies of it.
 */
export interface FunctionHome {
  name: string;
  /** Relative to the root of the repository. */
  file: string;
  text: string;
}

/** Parts of a contract comment that follow the promise of the function. */
const labels = ["Locks", "Returns", "Called by"] as const;

const definition = /create or replace function carillon\.(\w+)\s*\(/g;

/**
 * The functions in lib/<noun>/sql/<name>.sql, by name. Throws when a file is not one function with
 * its contract.
 */
export async function functionHomes(root: string = repository): Promise<FunctionHome[]> {
  const homes: FunctionHome[] = [];
  for await (const file of glob("lib/**/sql/*.sql", { cwd: root }))
    homes.push(homeOf(file, await readFile(path.join(root, file), "utf8")));
  homes.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const [index, { name, file }] of homes.entries()) {
    const other = homes[index + 1];
    if (other?.name === name) throw new Error(`carillon.${name} is in two files: ${file} and ${other.file}.`);
  }
  return homes;
}

function homeOf(file: string, text: string): FunctionHome {
  const name = path.basename(file, ".sql");
  const found = [...text.replace(hiddenSql, "").matchAll(definition)].map(([, each]) => each);
  if (found.length !== 1 || found[0] !== name)
    throw new Error(
      `${file} must hold exactly the function carillon.${name}; it holds ${found.join(", ") || "none"}.`,
    );
  const contract = /^(?:--.*\n)*/.exec(text)?.[0] ?? "";
  const missing = labels.filter((label) => !contract.includes(`\n-- ${label}: `));
  if (missing.length > 0)
    throw new Error(
      `${file} must begin with its contract; it lacks ${missing.map((label) => `"-- ${label}: …"`).join(" and ")}.`,
    );
  return { name, file, text };
}
