import { readFileSync } from "node:fs";
import { App } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { z } from "zod";
import { CarillonStack } from "../../infra/carillon-stack.ts";
import { settingsFrom } from "../../infra/settings.ts";

const resource = z.object({
  Type: z.string(),
  Properties: z.record(z.string(), z.unknown()).default({}),
  DependsOn: z.union([z.array(z.string()), z.string().transform((one) => [one])]).default([]),
  DeletionPolicy: z.string().optional(),
});
export type Resource = z.infer<typeof resource>;

const template = z.object({ Resources: z.record(z.string(), resource) });
const cdkJson = z.object({ context: z.record(z.string(), z.unknown()) });

export interface Synthesised {
  template: Template;
  resources: Record<string, Resource>;
  ofType(type: string): [string, Resource][];
}

/**
 * The stack as `cdk synth` makes it with these settings, without bundles: a function's code is not
 * part of the template.
 */
export function stackOf(settings: Readonly<Record<string, unknown>> = {}): CarillonStack {
  const { context } = cdkJson.parse(
    JSON.parse(readFileSync(new URL("../../cdk.json", import.meta.url), "utf8")),
  );
  const prefixed = Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [`carillon:${name}`, value]),
  );
  const app = new App({ context: { ...context, ...prefixed, "aws:cdk:bundling-stacks": [] } });
  return new CarillonStack(app, "Carillon", settingsFrom(app.node));
}

export function synthesised(settings: Readonly<Record<string, unknown>> = {}): Synthesised {
  const made = Template.fromStack(stackOf(settings));
  const resources = template.parse(made.toJSON()).Resources;
  return {
    template: made,
    resources,
    ofType: (type) => Object.entries(resources).filter(([, each]) => each.Type === type),
  };
}

/** The logical id in a reference or an attribute. */
export function idIn(value: unknown): string {
  const { Ref, "Fn::GetAtt": attribute } = z
    .object({ Ref: z.string().optional(), "Fn::GetAtt": z.tuple([z.string(), z.string()]).optional() })
    .parse(value);
  const id = Ref ?? attribute?.[0];
  if (id === undefined) throw new Error(`This refers to nothing: ${JSON.stringify(value)}`);
  return id;
}
