import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "vite";

/** Builds the page into the folder `page` of `dist`, each file also compressed beside it. */
export async function buildPage(root: string, dist: string): Promise<void> {
  const folder = path.join(dist, "page");
  await build({
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
}
