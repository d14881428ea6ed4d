import { onPath } from "./program.ts";

const names = ["chromium", "chromium-browser", "google-chrome"];

/** The program of a Chromium: `CHROMIUM_PATH`, or the first of the usual names. Undefined without one. */
export const chromium: string | undefined = process.env["CHROMIUM_PATH"] ?? onPath(names);
