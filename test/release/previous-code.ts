import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { previousRelease } from "../../lib/tools/migration/previous-release.ts";

export const repository: string = fileURLToPath(new URL("../../", import.meta.url));

const taken = ["lib", "functions", "test", "package.json", "vitest.config.ts", "tsconfig.json"];

/** An archive or a shallow clone has no history, and so lacks the code of the previous release. */
export const hasHistory: boolean =
  spawnSync("git", ["cat-file", "-e", `${previousRelease.commit}^{commit}`], { cwd: repository }).status ===
  0;

export interface PreviousCode {
  directory: string;
  remove(): Promise<void>;
}

/** The code of the previous release in a folder of its own. It uses the packages of this one. */
export async function previousCode(): Promise<PreviousCode> {
  const directory = await mkdtemp(join(tmpdir(), "carillon-previous-"));
  if (hasHistory) {
    const archive = join(directory, "release.tar");
    await run("git", ["archive", "--output", archive, previousRelease.commit, ...taken], repository);
    await run("tar", ["-xf", archive], directory);
    await symlink(join(repository, "node_modules"), join(directory, "node_modules"));
  }
  return { directory, remove: () => rm(directory, { recursive: true, force: true }) };
}

/** The environment of a program that is not to take itself for a test of this run. */
export function withoutVitest(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("VITEST")));
}

/**
 * Runs a program. Its output goes into the error, which else would not say which of the many tests
 * of the previous release failed.
 */
export function run(program: string, words: readonly string[], cwd: string): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(program, [...words], { cwd, env: withoutVitest(), maxBuffer: 2 ** 26 }, (error, out, faults) => {
      if (error === null) resolve();
      else reject(new Error(`${program} ${words.join(" ")} failed:\n${out}\n${faults}`, { cause: error }));
    });
  });
}
