import path from "node:path";
import { type BuildOptions, build } from "esbuild";
import type { PublishedPackage } from "../published-package.ts";
import { repository, root, testedVersion } from "../repository.ts";

const client = { types: "./types/lib/client/main.d.ts", default: "./client.js" };

/** The client, the definitions of jobs and the CLI. */
export const carillon: PublishedPackage = {
  name: "carillon",
  description:
    "The client, the job definitions and the CLI of Carillon, a scheduler in your own AWS account.",
  keywords: ["scheduler", "cron", "jobs", "aws", "serverless", "client", "cli"],
  build: async (folder) => {
    return {
      bundled: await buildPrograms(folder),
      declared: ["lib/client/main.ts", "lib/job/main.ts"],
      manifest: {
        exports: {
          ".": client,
          "./client": client,
          "./job": { types: "./types/lib/job/main.d.ts", default: "./job.js" },
          "./package.json": "./package.json",
        },
        bin: { carillon: "cli.js" },
        // For the schemas of payloads alone.
        peerDependencies: { zod: `^${testedVersion("zod")}` },
        peerDependenciesMeta: { zod: { optional: true } },
      },
    };
  },
};

/** Builds the three modules, with all that they import. Returns the bundled files. */
export async function buildPrograms(outdir: string): Promise<string[]> {
  const options: BuildOptions = {
    absWorkingDir: root,
    outdir,
    bundle: true,
    metafile: true,
    format: "esm",
    platform: "node",
    // An older Node than the package takes has to be able to read the sentence that says so.
    target: "node20",
    // The build of yaml for Node calls `require`.
    alias: { yaml: path.join(root, "node_modules", "yaml", "browser", "index.js") },
    logLevel: "warning",
  };
  const module = (folder: string) => path.join(root, "lib", folder, "main.ts");
  const built = [
    await build({ ...options, entryPoints: { client: module("client"), job: module("job") } }),
    // In parts, because only `carillon mcp` needs the SDK of its protocol, 0.35 MB of 0.8 MB.
    await build({
      ...options,
      entryPoints: { cli: module("cli") },
      chunkNames: "cli/[name]-[hash]",
      splitting: true,
      minify: true,
    }),
  ];
  return built.flatMap(({ metafile }) => Object.keys(metafile?.inputs ?? {}));
}

/** The range of `carillon` beside which another package runs: they share the version. */
export const sameVersion = `^${repository.version}`;
