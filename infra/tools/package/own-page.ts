import { createHash } from "node:crypto";
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";

/** The sources of the page in `dist/page`, which its build leaves beside it. */
interface Sources {
  /** The bundled files outside of the page's folders, and those that say how it is built. */
  files: string[];
  /** The contents of these files and of the page's folders. */
  hash: string;
}

/** The files that no bundle names, and that change it. */
const besides = ["package-lock.json", "tsconfig.json", "vite.config.ts", "infra/tools/package/build-page.ts"];
/** The page, and the client that it uses. A bundle does not name files that only export others. */
const folders = ["lib/page/", "lib/client/"];

const pageIn = (root: string) => path.join(root, "dist", "page");
const sourcesFile = (root: string) => path.join(root, "dist", "page-sources.json");

/**
 * Whether `dist/page` was built from the sources as they are now. The hash reads contents: a checkout
 * gives old files new times.
 */
export function isPageFresh(root: string): boolean {
  if (!existsSync(path.join(pageIn(root), "index.html"))) return false;
  if (!existsSync(sourcesFile(root))) return false;
  const { files, hash }: Sources = JSON.parse(readFileSync(sourcesFile(root), "utf8"));
  return files.every((file) => existsSync(path.join(root, file))) && hashOf(root, files) === hash;
}

/** Builds the page of the clone in `dist/page`. Returns the bundled files. */
export async function buildOwnPage(root: string): Promise<string[]> {
  // Loaded only here: vite takes longer to load than a fresh page takes to check.
  const { buildPage } = await import("./build-page.ts");
  const dist = path.join(root, "dist");
  mkdirSync(dist, { recursive: true });
  // Moved into place whole, so that a build that is killed leaves no partial page.
  const made = mkdtempSync(path.join(dist, "page-"));
  try {
    const bundled = await buildPage(root, made);
    const files = [...new Set([...bundled.filter(isOutside), ...besides])].toSorted();
    rmSync(sourcesFile(root), { force: true });
    rmSync(pageIn(root), { recursive: true, force: true });
    moveInto(pageIn(root), path.join(made, "page"));
    const sources: Sources = { files, hash: hashOf(root, files) };
    writeFileSync(sourcesFile(root), `${JSON.stringify(sources, null, 2)}\n`);
    return bundled;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

/** Another start may have built the same page meanwhile: that one stays. */
function moveInto(place: string, built: string): void {
  try {
    renameSync(built, place);
  } catch (error) {
    const code: unknown = Object(error).code;
    if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
  }
}

/** Packages change only with `package-lock.json`, and files of the page's folders are found there. */
function isOutside(file: string): boolean {
  return !file.includes("node_modules") && !folders.some((folder) => file.startsWith(folder));
}

function hashOf(root: string, files: readonly string[]): string {
  const own = folders.flatMap((folder) => globSync(`${folder}**/*.*`, { cwd: root }));
  const hash = createHash("sha256");
  for (const file of [...own, ...files].toSorted())
    hash.update(`\0${file}\0`).update(readFileSync(path.join(root, file)));
  return hash.digest("hex");
}
