import path from "node:path";
import { App, Stack } from "aws-cdk-lib";
import { z } from "zod";
import { Carillon, type CarillonProps } from "../../infra/carillon.ts";

/** The folder of each function's deployed code, by its construct, such as `SlowWorker`. */
export type Bundles = Readonly<Record<string, string>>;

const resources = z.object({
  Resources: z.record(
    z.string(),
    z.object({
      Type: z.string(),
      Metadata: z.object({ "aws:cdk:path": z.string(), "aws:asset:path": z.string() }).partial().optional(),
    }),
  ),
});

/**
 * Synthesises the stacks of one app, each with its own Carillon, and returns the folders of their
 * functions' code.
 */
export function bundled<Id extends string>(
  outdir: string,
  stacks: Readonly<Record<Id, CarillonProps>>,
): Record<Id, Bundles>;
export function bundled(outdir: string, stacks: Readonly<Record<string, CarillonProps>>) {
  // Set as the CLI does: each resource then names its construct, and a function the folder of its
  // code.
  const context = { "aws:cdk:enable-path-metadata": true, "aws:cdk:enable-asset-metadata": true };
  const app = new App({ outdir, context });
  for (const [id, props] of Object.entries(stacks)) new Carillon(new Stack(app, id), "Carillon", props);
  const assembly = app.synth();
  return Object.fromEntries(
    Object.keys(stacks).map((id) => [id, bundlesOf(assembly.getStackByName(id).template, outdir)]),
  );
}

/** Needs a template that was synthesised with the metadata of paths and assets. */
export function bundlesOf(template: unknown, outdir: string): Bundles {
  const found = Object.values(resources.parse(template).Resources)
    .filter(({ Type }) => Type === "AWS::Lambda::Function")
    .flatMap(({ Metadata }) => {
      const construct = /^\w+\/Carillon\/(\w+)\/Function\/Resource$/.exec(
        Metadata?.["aws:cdk:path"] ?? "",
      )?.[1];
      const asset = Metadata?.["aws:asset:path"];
      return construct === undefined || asset === undefined ? [] : [[construct, path.join(outdir, asset)]];
    });
  return Object.fromEntries(found);
}
