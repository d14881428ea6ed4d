import { readFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";

/** The root of the repository. */
export const root: string = path.join(import.meta.dirname, "..", "..", "..");

const packageJson = z.object({
  version: z.string(),
  license: z.string(),
  engines: z.object({ node: z.string() }),
  repository: z.object({ type: z.literal("git"), url: z.string() }),
  homepage: z.url(),
  bugs: z.object({ url: z.url() }),
  devDependencies: z.record(z.string(), z.string()),
  optionalDependencies: z.record(z.string(), z.string()),
  allowScripts: z.record(z.string(), z.boolean()),
});

/** The manifest of the repository. All packages share its version, its licence and its addresses. */
export const repository = packageJson.parse(
  JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")),
);

/** The version of a package that the tests run with. */
export function testedVersion(name: string): string {
  const version = repository.devDependencies[name];
  if (version === undefined) throw new Error(`package.json: ${name} is not among the devDependencies.`);
  return version;
}
