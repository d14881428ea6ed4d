import { readFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";

const versions = z.record(z.string(), z.string()).default({});

const lockedPackage = z.object({
  version: z.string().optional(),
  resolved: z.string().optional(),
  integrity: z.string().optional(),
  license: z.string().optional(),
  link: z.boolean().default(false),
  inBundle: z.boolean().default(false),
  hasInstallScript: z.boolean().default(false),
});
export type LockedPackage = z.infer<typeof lockedPackage>;

const lockfile = z.object({ lockfileVersion: z.number(), packages: z.record(z.string(), lockedPackage) });
export type Lockfile = z.infer<typeof lockfile>;

const manifest = z.object({
  scripts: versions,
  dependencies: versions,
  devDependencies: versions,
  optionalDependencies: versions,
  allowScripts: z.record(z.string(), z.boolean()).default({}),
});
export type Manifest = z.infer<typeof manifest>;

const readJson = (folder: string, file: string): unknown =>
  JSON.parse(readFileSync(path.join(folder, file), "utf8"));

export const readLockfile = (folder: string): Lockfile =>
  lockfile.parse(readJson(folder, "package-lock.json"));

export const readManifest = (folder: string): Manifest => manifest.parse(readJson(folder, "package.json"));

/** The packages with their places, such as `node_modules/zod`; the project itself has the place "". */
export function installed({ packages }: Lockfile): [place: string, locked: LockedPackage][] {
  return Object.entries(packages).filter(([place]) => place !== "");
}

/** `@scope/name` of a place, also of one inside of another package. */
export function nameAt(place: string): string {
  const folder = "node_modules/";
  return place.slice(place.lastIndexOf(folder) + folder.length);
}
