import path from "node:path";
import { buildPage } from "./build-page.ts";

/** `node infra/tools/package/write-page.ts FOLDER`: builds the page into the bundle in that folder. */
const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("Name the folder of the bundle.");
await buildPage(path.join(import.meta.dirname, "..", "..", ".."), folder);
