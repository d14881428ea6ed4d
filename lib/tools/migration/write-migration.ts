import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { migrationFrom, readMigrations } from "../../db/migrate/migration.ts";
import { changedFunctions, homelessFunctions, lastDefinitions } from "./copied-functions.ts";
import { type FunctionHome, functionHomes, repository } from "./function-homes.ts";
import { previousRelease } from "./previous-release.ts";

const help = `npm run migration -- NAME

  Copies the functions of lib/**/sql/ that changed since the last migration to migrations/NNNN-NAME.sql.
  A new file begins with a header for you to fill in; write statements on tables below it. Run the command
  again after each change of a function: it replaces the copies at the end of the file, and nothing above.`;

/** Everything after this line is replaced by the next run. */
const copiesBegin =
  "-- Functions, copied from lib/ by `npm run migration`. Edit them there and run it again.";

/**
 * `own` is written by hand. `known` names the functions of earlier migrations; the right to execute
 * new ones is revoked from the role public.
 */
export function migrationText(
  own: string,
  changed: readonly FunctionHome[],
  known: ReadonlySet<string>,
): string {
  if (changed.length === 0) return `${own.trimEnd()}\n`;
  const added = changed.filter(({ name }) => !known.has(name)).map(({ name }) => `carillon.${name}`);
  const revoke = added.length === 0 ? "" : `\nrevoke execute on function ${added.join(", ")} from public;\n`;
  // Function bodies are checked when they run, because functions refer to each other in any order.
  const copies = `${copiesBegin}\nset local check_function_bodies = off;\n\n${changed.map(({ text }) => text).join("\n")}`;
  return `${own.trimEnd()}\n\n${copies}${revoke}`;
}

/**
 * Writes the migration and returns a message for the developer. Migrations up to the number
 * `released` are never changed.
 */
export async function writeMigration(
  name: string,
  { root = repository, released = previousRelease.lastMigration as number } = {},
): Promise<string> {
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name))
    throw new Error(`"${name}" cannot name a migration: use lower-case letters, digits and single dashes.`);
  const directory = path.join(root, "migrations");
  const migrations = await readMigrations(directory);
  const written = migrations.find((each) => each.name === name);
  if (written !== undefined && written.number <= released)
    throw new Error(
      `Migration ${written.number} (${name}) has been released and cannot change: choose another name.`,
    );
  if (written !== undefined && written.number < migrations.length)
    throw new Error(
      `Migration ${written.number} (${name}) is not the last one: copy the functions to a migration after ${migrations.length}.`,
    );
  const number = written?.number ?? migrations.length + 1;
  const file = path.join(directory, `${String(number).padStart(4, "0")}-${name}.sql`);
  const own = written === undefined ? header(released) : (written.text.split(copiesBegin)[0] ?? "");
  const earlier = migrations.filter((each) => each.number < number);
  const homes = await functionHomes(root);
  const changed = changedFunctions(homes, earlier);
  await writeFile(file, migrationText(own, changed, new Set(lastDefinitions(earlier).keys())));
  const after = [...earlier, migrationFrom(number, name, await readFile(file, "utf8"))];
  return summary(path.relative(root, file), changed, homelessFunctions(homes, after));
}

const header = (released: number) =>
  `-- carillon: back to ${released}\n-- Say here what changes for a reader of the tables, and why.\n`;

function summary(file: string, changed: readonly FunctionHome[], homeless: readonly string[]): string {
  const copied =
    changed.length === 0
      ? "no function has changed"
      : changed.map(({ name }) => `carillon.${name}`).join(", ");
  const gone = homeless.map((each) => `carillon.${each}`).join(", ");
  return homeless.length === 0
    ? `${file}: ${copied}`
    : `${file}: ${copied}\nNo file in lib/ has ${gone}: drop it in the migration, in the release after the one that last used it.`;
}

if (import.meta.main) {
  try {
    const { positionals, values } = parseArgs({
      allowPositionals: true,
      options: { help: { type: "boolean", default: false } },
    });
    const [name] = positionals;
    if (name === undefined || positionals.length > 1 || values.help) {
      process.stderr.write(`${help}\n`);
      process.exitCode = values.help ? 0 : 2;
    } else process.stdout.write(`${await writeMigration(name)}\n`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
