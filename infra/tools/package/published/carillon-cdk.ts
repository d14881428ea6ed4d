import { cpSync } from "node:fs";
import path from "node:path";
import { type BuildOptions, build } from "esbuild";
import type { FunctionEntry } from "../../../functions/function-code.ts";
import { bundledInstead, requireForModules } from "../../../functions/function-format.ts";
import type { PublishedPackage } from "../published-package.ts";
import { root, testedVersion } from "../repository.ts";
import { sameVersion } from "./carillon.ts";

const entries: readonly FunctionEntry[] = [
  "tick",
  "worker",
  "api",
  "ingest",
  "migrate",
  "webhook",
  "archive",
  "page",
  "stack",
];
const source = (entry: FunctionEntry) => path.join(root, "functions", `${entry}.ts`);

/** The same options as the bundles that the construct makes at synth. */
const asDeployed: BuildOptions = {
  absWorkingDir: root,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node24",
  mainFields: ["module", "main"],
  alias: bundledInstead(root),
  minify: true,
  logLevel: "warning",
};

/** The construct with the code of the functions, in the same layout as the repository. */
export const carillonCdk: PublishedPackage = {
  name: "carillon-cdk",
  description: "Carillon, a scheduler in your own AWS account, as a construct of the AWS CDK.",
  keywords: ["scheduler", "cron", "jobs", "aws", "serverless", "aws-cdk", "cdk"],
  build: async (folder, page) => {
    await buildConstruct(folder);
    await buildOpenFunctions(folder);
    const bundled = [...(await buildClosedFunctions(folder)), ...page.bundled];
    cpSync(page.folder, path.join(folder, "functions", "page", "page"), { recursive: true });
    // For the function, and for the construct, which deploys by their content.
    for (const place of [folder, path.join(folder, "functions", "migrate")])
      cpSync(path.join(root, "migrations"), path.join(place, "migrations"), { recursive: true });
    return {
      bundled,
      declared: ["infra/cdk.ts"],
      manifest: {
        exports: {
          ".": { types: "./types/infra/cdk.d.ts", default: "./infra/cdk.js" },
          // An app imports it first: an older Node gets a sentence in place of an error of the parser.
          "./node-version": "./infra/node-version.js",
          "./package.json": "./package.json",
        },
        // The construct checks settings with it, and functions with an app's handlers share the
        // app's copy.
        dependencies: { zod: `^${testedVersion("zod")}` },
        peerDependencies: {
          "aws-cdk-lib": `^${testedVersion("aws-cdk-lib")}`,
          carillon: sameVersion,
          constructs: `^${testedVersion("constructs")}`,
          esbuild: ">=0.28.0 <1",
        },
        // For handlers of the app: their definitions, and their bundles.
        peerDependenciesMeta: { carillon: { optional: true }, esbuild: { optional: true } },
      },
    };
  },
};

/** The constructs, which use the app's own CDK, and the check of the version of Node. */
async function buildConstruct(folder: string): Promise<void> {
  await build({
    absWorkingDir: root,
    entryPoints: {
      cdk: path.join(root, "infra", "cdk.ts"),
      "node-version": path.join(root, "lib", "config", "node-version.ts"),
    },
    outdir: path.join(folder, "infra"),
    bundle: true,
    packages: "external",
    format: "esm",
    platform: "node",
    target: "node20",
    logLevel: "warning",
  });
}

/** Each function without handlers, to be deployed as it is. Returns the bundled files. */
async function buildClosedFunctions(folder: string): Promise<string[]> {
  const bundled: string[] = [];
  for (const entry of entries) {
    const { metafile } = await build({
      ...asDeployed,
      metafile: true,
      entryPoints: [source(entry)],
      outfile: path.join(folder, "functions", entry, "index.mjs"),
      alias: { ...asDeployed.alias, "#handlers": path.join(root, "functions", "no-handlers.ts") },
      banner: { js: requireForModules },
      sourcemap: true,
      sourcesContent: false,
    });
    bundled.push(...Object.keys(metafile.inputs));
  }
  return bundled;
}

/** The functions with `#handlers` left external, for an app's own handlers. */
async function buildOpenFunctions(folder: string): Promise<void> {
  await build({
    ...asDeployed,
    entryPoints: Object.fromEntries(entries.map((entry) => [entry, source(entry)])),
    outdir: path.join(folder, "functions", "open"),
    // The handlers describe their payloads with zod, and one copy of zod is enough.
    external: ["#handlers", "zod"],
    splitting: true,
  });
}
