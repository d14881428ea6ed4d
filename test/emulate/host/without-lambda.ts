import { z } from "zod";
import { type Template, templateShape } from "../gaps.ts";
import { type Address, overHttp } from "./over-http.ts";

type Resource = Template["Resources"][string];

/** A kind of resource that LocalStack's community core cannot make in host mode, and the reason. */
interface Lacking {
  readonly of: RegExp;
  readonly why: string;
}

const lacking: readonly Lacking[] = [
  {
    of: /^AWS::Lambda::Function$/,
    why: "its Lambda downloads a runtime and runs it in Docker; the function of this repository runs instead",
  },
  {
    of: /^AWS::Lambda::/,
    why: "it belongs to a function; the command connects queues, rule and API itself",
  },
  { of: /^Custom::/, why: "a function makes it; the command runs the migrations itself" },
  { of: /^AWS::CloudWatch::Dashboard$/, why: "the community core has no such resource in CloudFormation" },
  { of: /^AWS::Logs::MetricFilter$/, why: "the community core has no such resource in CloudFormation" },
  { of: /^AWS::CDK::Metadata$/, why: "AWS counts uses of the CDK with it" },
];

export interface LeftOut {
  readonly id: string;
  readonly type: string;
  readonly why: string;
}

/** A rule that would invoke a function. Its events go to a queue that is added to the template. */
export interface RuleFeed {
  readonly functionId: string;
  readonly queueId: string;
}

export interface Adapted {
  readonly template: Template;
  readonly leftOut: readonly LeftOut[];
  readonly ruleFeeds: readonly RuleFeed[];
}

/**
 * The template for an emulator without functions. References to a function become the name or the ARN that it
 * would have, so that alarms and roles stay. API methods send to `functionsAt`, and rules to queues.
 */
export function withoutLambda(whole: Template, functionsAt: Address): Adapted {
  const isFunction = (id: string) => whole.Resources[id]?.Type === "AWS::Lambda::Function";
  const ruleFeeds = ruleFeedsOf(whole, isFunction);
  const connected = mapResources(whole, (each) => overHttp(toQueues(each, ruleFeeds), whole, functionsAt));
  // Parameters and rules of the CDK's template only check that the account was bootstrapped.
  const { Parameters: _, Rules: __, ...named } = withNames(connected, isFunction);
  const reasons = reasonsIn(named);
  const leftOut = Object.entries(whole.Resources).flatMap(([id, { Type: type }]) => {
    const why = reasons.get(id);
    return why === undefined ? [] : [{ id, type, why }];
  });
  const kept = Object.entries(named.Resources).filter(([id]) => !reasons.has(id));
  const Resources = {
    ...Object.fromEntries(kept.map(([id, each]) => [id, withoutDependencies(each, reasons)])),
    ...Object.fromEntries(ruleFeeds.map(({ queueId }) => [queueId, { Type: "AWS::SQS::Queue" }])),
  };
  const Outputs = Object.fromEntries(
    Object.entries(outputsOf(named)).filter(([, value]) => !namedIn(value).some((id) => reasons.has(id))),
  );
  return { template: templateShape.parse({ ...named, Resources, Outputs }), leftOut, ruleFeeds };
}

const rule = z.looseObject({ Targets: z.array(z.looseObject({ Arn: z.unknown() })).default([]) });

function ruleFeedsOf({ Resources }: Template, isFunction: (id: string) => boolean): RuleFeed[] {
  const invoked = Object.values(Resources)
    .filter(({ Type }) => Type === "AWS::Events::Rule")
    .flatMap(({ Properties }) => rule.parse(Properties).Targets.flatMap(({ Arn }) => namedIn(Arn)));
  return [...new Set(invoked)]
    .filter(isFunction)
    .map((functionId) => ({ functionId, queueId: `EventsFor${functionId}` }));
}

function toQueues(resource: Resource, feeds: readonly RuleFeed[]): Resource {
  if (resource.Type !== "AWS::Events::Rule") return resource;
  const { Targets, ...others } = rule.parse(resource.Properties);
  const moved = Targets.map((target) => {
    const [named] = namedIn(target.Arn);
    const feed = feeds.find(({ functionId }) => functionId === named);
    return feed === undefined ? target : { ...target, Arn: { "Fn::GetAtt": [feed.queueId, "Arn"] } };
  });
  return { ...resource, Properties: { ...others, Targets: moved } };
}

/** Why resources are left out, by id: their own kind, or a reference to another that is left out. */
function reasonsIn({ Resources }: Template): ReadonlyMap<string, string> {
  const reasons = new Map<string, string>();
  for (const [id, { Type }] of Object.entries(Resources)) {
    const why = lacking.find(({ of }) => of.test(Type))?.why;
    if (why !== undefined) reasons.set(id, why);
  }
  for (let before = -1; before < reasons.size; ) {
    before = reasons.size;
    for (const [id, { Properties }] of Object.entries(Resources)) {
      const missing = namedIn(Properties).find((other) => reasons.has(other));
      if (missing !== undefined && !reasons.has(id)) reasons.set(id, `it refers to ${missing}`);
    }
  }
  return reasons;
}

/** The order of creation is all that a dependency on a left-out resource would give. */
function withoutDependencies({ DependsOn, ...each }: Resource, leftOut: ReadonlyMap<string, string>) {
  const still = DependsOn?.filter((id) => !leftOut.has(id)) ?? [];
  return still.length === 0 ? each : { ...each, DependsOn: still };
}

const reference = z.strictObject({ Ref: z.string() });
const attribute = z.strictObject({ "Fn::GetAtt": z.tuple([z.string(), z.string()]) });
const substitution = z.strictObject({
  "Fn::Sub": z.union([z.string(), z.tuple([z.string(), z.unknown()]).transform(([text]) => text)]),
});

/** The ids in references of a value, at any depth, those of pseudo parameters included. */
export function namedIn(value: unknown): string[] {
  const found: string[] = [];
  JSON.stringify(value, (_key, part: unknown) => {
    found.push(...namedBy(part));
    return part;
  });
  return found;
}

function namedBy(part: unknown): string[] {
  const ref = reference.safeParse(part).data;
  if (ref !== undefined) return [ref.Ref];
  const got = attribute.safeParse(part).data;
  if (got !== undefined) return [got["Fn::GetAtt"][0]];
  const text = substitution.safeParse(part).data?.["Fn::Sub"] ?? "";
  return [...text.matchAll(/\$\{([\w:]+)[^}]*\}/g)].flatMap(([, id = ""]) => id);
}

/** The same, with the name or the ARN of a function in the place of each reference to it. */
function withNames(template: Template, isFunction: (id: string) => boolean): Template {
  const text = JSON.stringify(template);
  return templateShape.parse(
    JSON.parse(text, (_key, part: unknown) => {
      const [id = ""] = namedBy(part);
      if (!isFunction(id)) return part;
      if (reference.safeParse(part).success) return id;
      return attribute.safeParse(part).success
        ? `arn:aws:lambda:us-east-1:000000000000:function:${id}`
        : part;
    }),
  );
}

function mapResources(template: Template, change: (resource: Resource) => Resource): Template {
  const changed = Object.entries(template.Resources).map(([id, each]) => [id, change(each)]);
  return { ...template, Resources: Object.fromEntries(changed) };
}

const withOutputs = z.looseObject({ Outputs: z.record(z.string(), z.unknown()).default({}) });

function outputsOf(template: Template): Record<string, unknown> {
  return withOutputs.parse(template).Outputs;
}
