import path from "node:path";
import { buildOwnPage, isPageFresh } from "./own-page.ts";

/**
 * `npm start` runs this first. It builds the page if `dist/page` is missing or older than its sources,
 * so that no install script has to.
 */
const root = path.join(import.meta.dirname, "..", "..", "..");
if (!isPageFresh(root)) {
  process.stderr.write("Building the page in dist/page, once after each change of its sources.\n");
  await buildOwnPage(root);
}
