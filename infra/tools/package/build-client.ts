import path from "node:path";
import { build } from "esbuild";

/** The client, and the CLI, which is the client and what reads files and a command line; for Node 20. Gives back the files that went in. */
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
    // The one for Node asks for `require`.
    alias: { yaml: path.join(root, "node_modules", "yaml", "browser", "index.js") },
    logLevel: "warning",
  });
  return Object.keys(metafile.inputs);
}
