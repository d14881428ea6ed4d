import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { App, type FileAssetSource, type IStackSynthesizer } from "aws-cdk-lib";
import { z } from "zod";
import { CarillonStack } from "../../carillon-stack.ts";
import { packageRoot } from "../../package-root.ts";
import { settingsOfValues } from "../../settings.ts";
import { CodeSynthesizer } from "./code-synthesizer.ts";
import type { Json } from "./json.ts";
import { zipFolder } from "./zip-folder.ts";

/** The name of the stack while it is synthesised, in place of the one that it is deployed with. */
export const standInName = "CarillonTemplate";

/** Logical ids have parts of the construct's id, so it is the one that the CDK's app has by default. */
const constructId = "Carillon";

const cdkJson = z.object({ context: z.record(z.string(), z.unknown()) });

/** The flags that `cdk synth` uses, so that both make the same template. */
const { context } = cdkJson.parse(JSON.parse(readFileSync(path.join(packageRoot, "cdk.json"), "utf8")));

export type GivenValues = Readonly<Record<string, unknown>>;

/** The template with these settings. All functions have one name in place of their code's. */
export function templateOf(given: GivenValues): Json {
  // The one template with bundles is validated, and validation takes longer than the rest.
  const unbundled = {
    ...context,
    "aws:cdk:bundling-stacks": [],
    "@aws-cdk/core:validateAgainstDefaultRules": false,
  };
  return inFolder((outdir) => synthesised(given, unbundled, outdir, () => "code.zip"));
}

export interface Bundled {
  readonly template: Json;
  /** The code of functions, by the names of the zips. */
  readonly zips: Readonly<Record<string, Uint8Array>>;
}

/** The template with these settings, and the code of its functions as zips named by their bytes. */
export function bundledTemplateOf(given: GivenValues, nameOf: (zip: Uint8Array) => string): Bundled {
  return inFolder((outdir) => {
    const zips: Record<string, Uint8Array> = {};
    const template = synthesised(given, context, outdir, ({ fileName = "" }) => {
      const zip = zipFolder(path.resolve(outdir, fileName));
      const name = nameOf(zip);
      zips[name] = zip;
      return name;
    });
    return { template, zips };
  });
}

function synthesised(
  given: GivenValues,
  flags: GivenValues,
  outdir: string,
  nameOf: (asset: FileAssetSource) => string,
): Json {
  const app = new App({ context: flags, outdir, analyticsReporting: false });
  // The class and its interface differ only in whether an absent property may be undefined, which
  // matters to the compiler alone.
  const synthesizer = new CodeSynthesizer(nameOf) as IStackSynthesizer;
  new CarillonStack(app, constructId, settingsOfValues(given), { stackName: standInName, synthesizer });
  return z.json().parse(app.synth().getStackByName(standInName).template);
}

/**
 * The folder is within the repository: source maps name the sources relative to it, and these names
 * are the same on every machine.
 */
function inFolder<Made>(make: (folder: string) => Made): Made {
  const ours = path.join(packageRoot, ".carillon");
  mkdirSync(ours, { recursive: true });
  const folder = mkdtempSync(path.join(ours, "template-"));
  try {
    return make(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
