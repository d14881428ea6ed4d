import { existsSync, statSync } from "node:fs";
import path from "node:path";

/** A file or folder of the project, and what else would have been taken. */
export interface Found {
  file: string;
  /** Further ones that exist under a conventional name, and are not used. */
  unused: string[];
}

const endings = [".ts", ".js", ".mjs", ".mts"];
const places = ["carillon", "src", "."];

const named = (stem: string) =>
  places.flatMap((place) => endings.map((ending) => path.join(place, `${stem}${ending}`)));

/** The names under which handlers and schedules are found, the first one wins. */
export const conventions = {
  handlers: named("handlers"),
  schedules: [...named("schedules"), "schedules"],
} as const;

/** For a line of output: the names with the first ending, which stands for the others. */
export const lookedFor = {
  handlers: "carillon/handlers.ts, src/handlers.ts, handlers.ts (or .js, .mjs, .mts)",
  schedules: "carillon/schedules.ts, src/schedules.ts, schedules.ts (or .js, .mjs, .mts), schedules/",
} as const;

/** The first that exists in the folder; null if none does. */
export function findByName(what: keyof typeof conventions, folder: string): Found | null {
  const [first, ...unused] = conventions[what].filter((name) => isTaken(path.join(folder, name)));
  return first === undefined ? null : { file: path.join(folder, first), unused };
}

/** Only `schedules` itself may be a folder. */
function isTaken(file: string): boolean {
  if (!existsSync(file)) return false;
  return statSync(file).isDirectory() === (path.extname(file) === "");
}

/** A file that an option names. */
export function namedFile(file: string, option: string): Found {
  const absolute = path.resolve(file);
  if (!existsSync(absolute)) throw new Error(`${option}: there is no ${absolute}.`);
  return { file: absolute, unused: [] };
}
