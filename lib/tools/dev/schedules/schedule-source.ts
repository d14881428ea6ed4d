import { statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Found } from "../../../cli/formats/found.ts";
import { isScheduleFile, readScheduleFiles } from "../../../cli/formats/schedule-files.ts";
import { readSource } from "../../../cli/formats/source-files.ts";
import { ownModules } from "../../local/handlers/own-modules.ts";

/** Where the schedules of the project are written. */
export interface ScheduleSource {
  /** The files that reads have read. */
  readonly files: ReadonlySet<string>;
  /** Whether a new file of that name belongs to it. */
  takes(file: string): boolean;
  /** Reads the schedules as they are now. */
  read(): Promise<Found[]>;
}

export function scheduleSource(file: string, folder: string): ScheduleSource {
  const isFiles = statSync(file).isDirectory() || isScheduleFile(file);
  return isFiles ? fileSource(file) : moduleSource(file, path.relative(folder, file));
}

/** A module that exports `schedules`: its entries are what an entry of a file of `apply` is. */
function moduleSource(file: string, name: string): ScheduleSource {
  const modules = ownModules(file);
  return {
    files: modules.files,
    takes: () => false,
    read: async () => {
      const exported: unknown = Reflect.get(Object(await modules.load()), "schedules");
      if (!Array.isArray(exported))
        throw new Error(`${name} exports no array \`schedules\` of { key, when, target, … }.`);
      return readScheduleFiles({ files: [{ name, text: JSON.stringify(exported), isStdin: false }] }).found;
    },
  };
}

function fileSource(place: string): ScheduleSource {
  const isFolder = statSync(place).isDirectory();
  // A file that does not exist makes an empty folder watched, too.
  const files = new Set([isFolder ? path.join(place, "none.yaml") : place]);
  return {
    files,
    // A name without an ending may be a new folder of files.
    takes: (file) => isFolder && (isScheduleFile(file) || path.extname(file) === ""),
    read: async () => {
      const read = (file: string) => readFile(file, "utf8");
      const source = await readSource({ read }, place, isScheduleFile);
      if (isFolder) for (const { name } of source.files) files.add(path.join(place, name));
      return readScheduleFiles(source).found;
    },
  };
}
