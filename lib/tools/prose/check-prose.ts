import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { allowed } from "./allowed.ts";
import { openings, phrases } from "./phrases.ts";
import { proseOf } from "./sentences.ts";

/** The sentences that the check does not accept, as `file:line: text`. */
export function faultsIn(file: string, text: string): string[] {
  return proseOf(file, text)
    .filter((prose) => openings.test(prose.text) || phrases.test(prose.text))
    .filter((prose) => !allowed.some((sentence) => prose.text.includes(sentence)))
    .map((prose) => `${file}:${prose.line}: ${prose.text.slice(0, 120)}`);
}

const folders = "{lib,functions,infra,migrations,test,docs}/**/*.{ts,sql,md}";

/**
 * Files with prose that is written by hand. Fixtures are recorded, the changelog tells of the past,
 * and this folder quotes the wordings.
 */
export function filesWithProse(root: string): string[] {
  return [...globSync(folders, { cwd: root }), ...globSync("*.{ts,md}", { cwd: root })]
    .filter((file) => !/(^|\/)(fixtures|node_modules)\/|^lib\/tools\/prose\/|^CHANGELOG\.md$/.test(file))
    .sort();
}

if (import.meta.main) {
  const root = fileURLToPath(new URL("../../..", import.meta.url));
  const faults = filesWithProse(root).flatMap((file) =>
    faultsIn(file, readFileSync(path.join(root, file), "utf8")),
  );
  for (const fault of faults) process.stdout.write(`${fault}\n`);
  if (faults.length > 0) {
    process.stdout.write(
      `${faults.length} sentences to reword: begin with the part of the system that acts, and use the words of the trade. A sentence that is right as it is goes into lib/tools/prose/allowed.ts.\n`,
    );
    process.exitCode = 1;
  }
}
