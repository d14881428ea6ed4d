import { rmSync } from "node:fs";
import path from "node:path";
import { type BuildOptions, build } from "esbuild";

/**
 * Bundles the client, and the CLI, which adds reading files and a command line, for Node 20.
 * Returns the files that were bundled.
 */
export async function buildClient(root: string, outdir: string): Promise<string[]> {
  const options: BuildOptions = {
    absWorkingDir: root,
    outdir,
    bundle: true,
    metafile: true,
    format: "esm",
    platform: "node",
    target: "node20",
    // The build of yaml for Node calls `require`.
    alias: { yaml: path.join(root, "node_modules", "yaml", "browser", "index.js") },
    logLevel: "warning",
  };
  rmSync(path.join(outdir, "cli"), { recursive: true, force: true });
  const built = [
    await build({ ...options, entryPoints: { client: path.join(root, "lib", "client", "main.ts") } }),
    // In parts, because only `carillon mcp` needs the SDK of its protocol, 0.35 MB of 0.8 MB.
    await build({
      ...options,
      entryPoints: { cli: path.join(root, "lib", "cli", "main.ts") },
      chunkNames: "cli/[name]-[hash]",
      splitting: true,
      minify: true,
    }),
  ];
  return built.flatMap(({ metafile }) => Object.keys(metafile?.inputs ?? {}));
}
