import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { checkName, type Manifest, withTarballs } from "./manifest.ts";

export interface ProjectFile {
  /** Below the folder of the project. */
  place: string;
  text: string;
}

/** Stands for the name of the project, and makes the template a project itself. */
const templateName = "carillon-app";

const template = path.join(import.meta.dirname, "project");

/** The files of a project in this folder. Throws if it cannot have that name, or a tarball is missing. */
export function projectFiles(folder: string, packages: string | undefined): ProjectFile[] {
  const name = path.basename(folder);
  const manifest: Manifest = JSON.parse(textOf("package.json"));
  checkName(name, manifest);
  const whole = packages === undefined ? manifest : withTarballs(manifest, { packages, folder });
  const others = readdirSync(template, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(template, path.join(entry.parentPath, entry.name)))
    .filter((place) => place !== "package.json")
    .map((place) => ({
      // npm would leave `.gitignore` out of the tarball.
      place: place.replace(/^dot\./, "."),
      text: textOf(place).replaceAll(templateName, name),
    }));
  return [...others, { place: "package.json", text: `${JSON.stringify({ ...whole, name }, null, 2)}\n` }];
}

const textOf = (place: string) => readFileSync(path.join(template, place), "utf8");
