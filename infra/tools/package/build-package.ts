import { cpSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type BuildOptions, build } from "esbuild";
import type { FunctionEntry } from "../../functions/function-code.ts";
import { bundledInstead, requireForModules } from "../../functions/function-format.ts";
import { billOfMaterials, licences, packagesIn } from "./bill-of-materials.ts";
import { buildClient } from "./build-client.ts";
import { buildPage } from "./build-page.ts";

// Builds the package without its types in dist/, with the same layout as the repository.

const root = path.join(import.meta.dirname, "..", "..", "..");
const dist = path.join(root, "dist");
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

for (const folder of ["infra", "functions", "migrations", "types"])
  rmSync(path.join(dist, folder), { recursive: true, force: true });

/** The constructs; they use the app's own CDK. */
await build({
  absWorkingDir: root,
  entryPoints: [path.join(root, "infra", "cdk.ts")],
  outfile: path.join(dist, "infra", "cdk.js"),
  bundle: true,
  packages: "external",
  format: "esm",
  platform: "node",
  target: "node20",
  logLevel: "warning",
});

const bundledFiles = await buildClient(root, dist);

/** For the local stack; the package's own function has a copy. */
bundledFiles.push(...(await buildPage(root, dist)));

/** Each function without handlers, to be deployed as it is. */
for (const entry of entries) {
  const { metafile } = await build({
    ...asDeployed,
    metafile: true,
    entryPoints: [source(entry)],
    outfile: path.join(dist, "functions", entry, "index.mjs"),
    alias: { ...asDeployed.alias, "#handlers": path.join(root, "functions", "no-handlers.ts") },
    banner: { js: requireForModules },
    sourcemap: true,
    sourcesContent: false,
  });
  bundledFiles.push(...Object.keys(metafile.inputs));
}
const bundledPackages = packagesIn(root, bundledFiles);
writeFileSync(path.join(dist, "sbom.cdx.json"), billOfMaterials(root, bundledPackages));
writeFileSync(path.join(dist, "THIRD-PARTY-LICENSES"), licences(bundledPackages));

/**
 * The functions with `#handlers` left external, for an app's own handlers. `carillon/job` is built
 * together with them: its `again` makes an `Again`, which the functions recognise only when both
 * share one class.
 */
await build({
  ...asDeployed,
  entryPoints: {
    ...Object.fromEntries(entries.map((entry) => [entry, source(entry)])),
    job: path.join(root, "lib", "job", "main.ts"),
  },
  outdir: path.join(dist, "functions", "open"),
  // The handlers describe their payloads with zod, and one copy of zod is enough.
  external: ["#handlers", "zod"],
  splitting: true,
});

const migrations = path.join(root, "migrations");
cpSync(migrations, path.join(dist, "migrations"), { recursive: true });
cpSync(migrations, path.join(dist, "functions", "migrate", "migrations"), { recursive: true });
cpSync(path.join(dist, "page"), path.join(dist, "functions", "page", "page"), { recursive: true });
