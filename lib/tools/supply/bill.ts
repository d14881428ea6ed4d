import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { npm } from "./npm.ts";

const licence = z
  .union([
    z.object({ expression: z.string() }).transform(({ expression }) => expression),
    z.object({ license: z.object({ id: z.string() }) }).transform(({ license }) => license.id),
    z.object({ license: z.object({ name: z.string() }) }).transform(({ license }) => license.name),
  ])
  .array()
  .default([]);

const cycloneDx = z.object({
  bomFormat: z.literal("CycloneDX"),
  components: z.array(z.object({ name: z.string(), version: z.string(), licenses: licence })),
});

/** The short form of the bill of materials, which is in the repository: a new package shows in a commit. */
const listFile = path.join("lib", "tools", "supply", "packages.txt");

/** The packages of the lockfile as `npm sbom` tells them, sorted: `name@version licence`. */
async function linesOfBill(folder: string): Promise<string[]> {
  const args = ["sbom", "--package-lock-only", "--sbom-format=cyclonedx"];
  const { code, output, errors } = await npm(folder, args);
  if (code !== 0) throw new Error(`npm ${args.join(" ")} ended with ${code}: ${errors.trim()}`);
  const { components } = cycloneDx.parse(JSON.parse(output));
  const lines = components.map(
    ({ name, version, licenses }) => `${name}@${version} ${licenses.join(" AND ") || "none"}`,
  );
  return [...new Set(lines)].sort();
}

/** The differences between the lockfile of the folder and its list. */
export async function billFaults(folder: string): Promise<string[]> {
  const file = path.join(folder, listFile);
  const listed = new Set(existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : []);
  const locked = new Set(await linesOfBill(folder));
  const told = (lines: Set<string>, others: Set<string>, how: string) =>
    [...lines]
      .filter((line) => !others.has(line))
      .map((line) => `${listFile}: ${line} ${how}; \`npm run audit -- --write\` writes the list.`);
  return [
    ...told(locked, listed, "is in the lockfile and not in the list"),
    ...told(listed, locked, "is in the list and not in the lockfile"),
  ];
}

/** Writes the list of the folder's lockfile. */
export async function writeBill(folder: string): Promise<string> {
  const lines = await linesOfBill(folder);
  writeFileSync(path.join(folder, listFile), `${lines.join("\n")}\n`);
  return `${listFile}: ${lines.length} packages`;
}
