import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, glob, mkdir, mkdtemp, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { serverConnection } from "./server-connection.ts";

const run = promisify(execFile);
const root = path.join(import.meta.dirname, "..", "..");
const modules = path.join(root, "node_modules");
const cache = path.join(modules, ".cache", "carillon-packages");

/** The folders and files that the packages are made of. */
const folders = ["functions", "infra", "lib", "migrations"];
const files = [
  "package.json",
  "package-lock.json",
  "LICENSE",
  "tsconfig.json",
  "tsconfig.client.json",
  "tsconfig.types.json",
  "vite.config.ts",
];
/** The installed packages, and this file, which builds the packages. */
const besides = [path.join("node_modules", ".package-lock.json"), path.relative(root, import.meta.filename)];

const lock = 20_260_302;
const keptMs = 86_400_000;

/**
 * The folder with the packages as `npm run pack:all` makes them, each as a folder and as a tarball.
 * They are built in a copy, so that no test changes the `dist` of the repository. They are built
 * once and shared by all tests, also of later runs, until one of their files changes.
 */
export async function packedPackages(): Promise<string> {
  const packed = path.join(cache, await contentKey());
  const server = await serverConnection();
  // A lock of the database ends with its process, however that ends.
  await server`select pg_advisory_lock(${lock})`;
  try {
    if (!(await isThere(packed))) await pack(packed);
  } finally {
    await server`select pg_advisory_unlock(${lock})`;
  }
  return packed;
}

async function contentKey(): Promise<string> {
  const inFolders = await Array.fromAsync(
    glob(
      folders.map((folder) => `${folder}/**/*.*`),
      { cwd: root },
    ),
  );
  const hash = createHash("sha256").update(process.version);
  for (const file of [...inFolders, ...files, ...besides].toSorted())
    hash.update(`\0${file}\0`).update(await readFile(path.join(root, file)));
  return hash.digest("hex").slice(0, 32);
}

async function isThere(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}

async function pack(packed: string): Promise<void> {
  await mkdir(cache, { recursive: true });
  await forgetOld();
  const folder = await mkdtemp(path.join(tmpdir(), "carillon-pack-"));
  try {
    const copy = path.join(folder, "copy");
    for (const part of [...folders, ...files])
      await cp(path.join(root, part), path.join(copy, part), { recursive: true });
    await symlink(modules, path.join(copy, "node_modules"));
    await run("npm", ["run", "pack:all", "--silent"], { cwd: copy });
    // Moved into place whole: a run that is killed meanwhile leaves no partial folder.
    await rm(`${packed}.new`, { recursive: true, force: true });
    await cp(path.join(copy, "dist", "packages"), `${packed}.new`, { recursive: true });
    await rename(`${packed}.new`, packed);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Deletes old packages. Recent ones stay, since another run may still install from them. */
async function forgetOld(): Promise<void> {
  for await (const name of glob("*", { cwd: cache })) {
    const file = path.join(cache, name);
    if (Date.now() - (await stat(file)).mtimeMs > keptMs) await rm(file, { recursive: true, force: true });
  }
}
