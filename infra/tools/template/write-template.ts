import { readFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { packageRoot } from "../../package-root.ts";
import type { GivenValues } from "./synthesis.ts";
import { writeDeployment } from "./write-deployment.ts";

/**
 * `npm run template`: writes the plain templates, the code of their functions and the Terraform module
 * to dist/template. `-- --settings FILE` takes settings from a JSON file, `--out FOLDER` another folder.
 */
const { values } = parseArgs({ options: { settings: { type: "string" }, out: { type: "string" } } });
const folder = values.out ?? path.join(packageRoot, "dist", "template");

for (const line of writeDeployment(folder, values.settings === undefined ? {} : settingsIn(values.settings)))
  process.stdout.write(`${line}\n`);

function settingsIn(file: string): GivenValues {
  const result = z.record(z.string(), z.unknown()).safeParse(jsonIn(file));
  if (result.success) return result.data;
  return refuse(`${file}: it takes settings by their names, such as { "apiKind": "rest" }.`);
}

function jsonIn(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    return refuse(
      `--settings ${file}: it cannot be read as JSON: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

function refuse(sentence: string): never {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
}
