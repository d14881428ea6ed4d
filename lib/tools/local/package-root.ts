import { findPackageJSON } from "node:module";
import path from "node:path";

const manifest = findPackageJSON(import.meta.url);
if (manifest === undefined) throw new Error(`There is no package.json above ${import.meta.filename}.`);

/**
 * The root of the repository, or of the package `carillon-dev`, which has the same layout. A bundle
 * has no fixed place, so paths begin here.
 */
export const packageRoot: string = path.dirname(manifest);

/** A module by its place, such as `lib/job/main`: TypeScript here, and JavaScript in the package. */
export function ownModule(place: string): string {
  return path.join(packageRoot, `${place}${path.extname(import.meta.filename)}`);
}
