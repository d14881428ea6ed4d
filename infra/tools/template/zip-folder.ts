import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { type Zippable, zipSync } from "fflate";

/** The earliest time of the format. Its parts are those of the local zone, in which they are written. */
const always = new Date(1980, 0, 1);

/**
 * A folder as a zip whose bytes depend on the names and contents of its files alone. The compression
 * is fflate's own: that of Node's zlib gives other bytes from one release of Node to the next.
 */
export function zipFolder(folder: string): Uint8Array {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .map((file) => ({ file, name: path.relative(folder, file).replaceAll(path.sep, "/") }))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
  // Lambda runs functions as a user of its own, so everyone may read the files.
  const asFile = { os: 3, attrs: 0o644 << 16, mtime: always, level: 9 } as const;
  const entries: Zippable = Object.fromEntries(
    files.map(({ file, name }) => [name, [readFileSync(file), asFile]]),
  );
  return zipSync(entries);
}
