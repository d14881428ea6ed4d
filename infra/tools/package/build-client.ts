import path from "node:path";
import { build } from "esbuild";

/**
 * Bundles the client, and the CLI, which adds reading files and a command line, for Node 20.
 * Returns the files that were bundled.
 */
export async function buildClient(root: string, outdir: string): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: {
      client: path.join(root, "lib", "client", "main.ts"),
      cli: path.join(root, "lib", "cli", "main.ts"),
    },
    outdir,
    bundle: true,
    metafile: true,
    format: "esm",
    platform: "node",
    target: "node20",
    // The build of yaml for Node calls `require`.
    alias: { yaml: path.join(root, "node_modules", "yaml", "browser", "index.js") },
    logLevel: "warning",
  });
  return Object.keys(metafile.inputs);
}
