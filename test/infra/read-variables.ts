import { globSync, readFileSync } from "node:fs";
import path from "node:path";

const root = path.join(import.meta.dirname, "..", "..");

/** Code that does not run in a function. */
const elsewhere = /^lib\/(cli|client|local|page|tools)\//;

const reads =
  /\b(?:env\[|(?!awsClientSettings)\w+\((?:env|process\.env), |process\.env\[)"([A-Z_][A-Z0-9_]+)"/g;

/** The variables of the environment that the code of the functions reads by name. */
export function readVariables(): string[] {
  const files = globSync(["functions/**/*.ts", "lib/**/*.ts"], { cwd: root }).filter(
    (file) => !elsewhere.test(file),
  );
  return files.flatMap((file) =>
    [...readFileSync(path.join(root, file), "utf8").matchAll(reads)].map(([, name = ""]) => name),
  );
}
