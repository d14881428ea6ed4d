import { cpSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import { projectManifest } from "../project-manifest.ts";
import type { PublishedPackage } from "../published-package.ts";
import { root } from "../repository.ts";

const source = path.join(root, "lib", "tools", "create");

/** The program behind `npm create carillon`, with the project that it copies. */
export const createCarillon: PublishedPackage = {
  name: "create-carillon",
  description: "Makes a project with Carillon, a scheduler in your own AWS account: npm create carillon.",
  keywords: ["scheduler", "cron", "jobs", "aws", "serverless", "create", "template"],
  build: async (folder) => {
    const { metafile } = await build({
      absWorkingDir: root,
      entryPoints: [path.join(source, "main.ts")],
      outfile: path.join(folder, "create.js"),
      bundle: true,
      metafile: true,
      format: "esm",
      platform: "node",
      // An older Node than the package takes has to be able to read the sentence that says so.
      target: "node20",
      logLevel: "warning",
    });
    const project = path.join(folder, "project");
    cpSync(path.join(source, "project"), project, { recursive: true });
    writeFileSync(path.join(project, "package.json"), `${JSON.stringify(projectManifest, null, 2)}\n`);
    return {
      bundled: Object.keys(metafile.inputs),
      declared: [],
      manifest: {
        exports: { "./package.json": "./package.json" },
        bin: { "create-carillon": "create.js" },
      },
    };
  },
};
