import { accessSync, constants } from "node:fs";
import path from "node:path";

/** The first of these programs that is in a folder of `PATH`. */
export function onPath(programs: readonly string[]): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(path.delimiter);
  return programs
    .flatMap((program) => folders.map((folder) => path.join(folder, program)))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}
