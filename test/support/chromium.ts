import { accessSync, constants } from "node:fs";
import path from "node:path";

const names = ["chromium", "chromium-browser", "google-chrome"];

/** The program of a Chromium: `CHROMIUM_PATH`, or the first of the usual names. Undefined without one. */
export const chromium: string | undefined = process.env["CHROMIUM_PATH"] ?? onPath(names);

function onPath(programs: readonly string[]): string | undefined {
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
