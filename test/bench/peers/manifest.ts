import { readFileSync } from "node:fs";
import path from "node:path";

/**
 * The version that a manifest of test/bench/peers/ names, so that the page cannot name another one.
 */
export function versionIn(manifest: string, pattern: RegExp): string {
  const text = readFileSync(path.join(import.meta.dirname, manifest), "utf8");
  const [, version] = pattern.exec(text) ?? [];
  if (version === undefined) throw new Error(`${manifest} names no version by ${pattern}.`);
  return version;
}
