import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "vite";

/**
 * Builds the page into the folder `page` of `dist`, each file also compressed beside it. Returns
 * the files that were bundled.
 */
export async function buildPage(root: string, dist: string): Promise<string[]> {
  const folder = path.join(dist, "page");
  // Vite follows the caller's value, and with any other React's code for developers is bundled.
  process.env["NODE_ENV"] = "production";
  const built = await build({
    configFile: path.join(root, "vite.config.ts"),
    logLevel: "warn",
    build: { outDir: folder, emptyOutDir: true },
  });
  const assets = path.join(folder, "assets");
  for (const name of readdirSync(assets)) {
    const file = path.join(assets, name);
    const bytes = readFileSync(file);
    writeFileSync(
      `${file}.br`,
      brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }),
    );
    writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
  }
  return [built]
    .flat()
    .flatMap((each) => ("output" in each ? each.output : []))
    .flatMap((file) => (file.type === "chunk" ? file.moduleIds : []))
    .filter((id) => path.isAbsolute(id))
    .map((id) => path.relative(root, id));
}
