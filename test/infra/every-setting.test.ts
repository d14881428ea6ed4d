import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { type Synthesised, synthesised } from "./synthesised.ts";
import { variants } from "./variants.ts";

const runbook = readFileSync(new URL("../../docs/runbook.md", import.meta.url), "utf8");
const articles = [...runbook.matchAll(/^### (.+)$/gm)].map(([, heading = ""]) =>
  heading.toLowerCase().replaceAll(" ", "-"),
);

/** The services that the deploying role needs, by docs/deploy.md. */
const services = [
  ...(
    readFileSync(new URL("../../docs/deploy.md", import.meta.url), "utf8").match(
      /hold\s+resources\s+of\s+these\s+services:[^.]*/,
    )?.[0] ?? ""
  ).matchAll(/`(\w+)`/g),
].map(([, service]) => service);

/**
 * Names that two deployments may share, because each is a name within a resource of its own
 * deployment.
 */
const withinSomething: readonly RegExp[] = [
  // Within a role, a server or an API.
  /^AWS::IAM::Policy\.PolicyName$/,
  /^AWS::RDS::DB(Instance|Cluster)\.(DBName|DatabaseName)$/,
  /^AWS::ApiGateway(V2)?::Stage\.StageName$/,
  // Names that AWS and Carillon's functions give to metrics.
  /^AWS::CloudWatch::Alarm\.MetricName$/,
  /^AWS::ApiGateway(V2)?::Authorizer\.Name$/,
  /^AWS::RDS::DBProxyTargetGroup\.TargetGroupName$/,
  // Two APIs may have one name; they are identified by their ids.
  /^AWS::ApiGateway(V2)?::(Api|RestApi)\.Name$/,
];

/** IAM's prefix for a service, by the first part of the name of its resource types. */
function prefixOf(service: string): string {
  const others: Record<string, string> = { ApiGatewayV2: "apigateway", StepFunctions: "states" };
  return others[service] ?? service.toLowerCase();
}

/** Every reference in a template, at any depth. */
function referencesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  if (typeof value !== "object" || value === null) return [];
  const own = Object.entries(value).flatMap(([key, inside]) => {
    if (key === "Ref" && typeof inside === "string") return [inside];
    if (key === "Fn::GetAtt") return [z.array(z.unknown()).parse(inside)[0]].map(String);
    if (key === "Fn::Sub") return substitutedIn(inside);
    return [];
  });
  return [...own, ...Object.values(value).flatMap(referencesIn)];
}

function substitutedIn(inside: unknown): string[] {
  const [text, given = {}] = z
    .tuple([z.string(), z.record(z.string(), z.unknown()).optional()])
    .parse(Array.isArray(inside) ? inside : [inside, undefined]);
  const names = [...text.matchAll(/\$\{([^!}.]+)[^}]*\}/g)].map(([, name = ""]) => name);
  return names.filter((name) => !(name in given));
}

describe.each(Object.keys(variants))("with the settings of: %s", (name) => {
  let stack: Synthesised;
  beforeAll(() => {
    stack = synthesised(variants[name]);
  });

  const all = () => Object.entries(stack.resources);

  test("every referenced resource exists", () => {
    const known = new Set([
      ...Object.keys(stack.resources),
      ...Object.keys(stack.template.findParameters("*")),
    ]);
    const referred = new Set(referencesIn(stack.template.toJSON()));
    const missing = [...referred].filter((id) => !id.startsWith("AWS::") && !known.has(id));
    expect(missing).toEqual([]);
    expect(referred.size).toBeGreaterThan(30);
    for (const [, { DependsOn }] of all()) for (const id of DependsOn) expect(known).toContain(id);
  });

  test("no secret's value is in the template or resolved into a property", () => {
    expect(JSON.stringify(stack.template.toJSON())).not.toContain("{{resolve:");
    const secrets = stack.ofType("AWS::SecretsManager::Secret");
    expect(secrets.length).toBeGreaterThan(0);
    for (const [, { Properties }] of secrets) expect(Properties).not.toHaveProperty("SecretString");
    for (const [id, { Properties }] of stack.ofType("AWS::Lambda::Function")) {
      const { Variables } = z
        .object({ Variables: z.record(z.string(), z.unknown()) })
        .catch({ Variables: {} })
        .parse(Properties["Environment"]);
      const telling = Object.entries(Variables)
        .filter(([variable]) => /PASSWORD|TOKEN|SECRET|CREDENTIAL/.test(variable))
        // The location of a secret is not secret: a reference, or the ARN from a setting.
        .filter(([, value]) => typeof value === "string" && !value.startsWith("arn:"));
      expect(telling, id).toEqual([]);
    }
  });

  test("two deployments fit into one account: no resource has a fixed name", () => {
    const given = JSON.stringify(variants[name]);
    const fixed = all().flatMap(([, { Type, Properties }]) =>
      Object.entries(Properties)
        .filter(([key, value]) => /(Name|Identifier)$/.test(key) && typeof value === "string")
        // CDK's generated names end in a hash of the path, and the path begins with the stack's
        // name.
        .filter(([, value]) => !/^(\/aws\/rds\/proxy\/)?Carillon[\w-]+[0-9A-F]{8}$/i.test(String(value)))
        // A name from the settings, such as a domain's, is unique already.
        .filter(([, value]) => !given.includes(String(value).replace(/\.$/, "")))
        .map(([key, value]) => [`${Type}.${key}`, value] as const),
    );
    expect(fixed.filter(([key]) => !withinSomething.some((pattern) => pattern.test(key)))).toEqual([]);
  });

  test("every function runs on Node 24, Carillon's own on ARM, and each log has a retention", () => {
    const functions = stack.ofType("AWS::Lambda::Function");
    const ours = functions.filter(([, { Properties }]) => Properties["Handler"] === "index.handler");
    // The others are CDK's, which report to CloudFormation how the migration went.
    const others = functions.filter((each) => !ours.includes(each));
    expect(ours.length).toBeGreaterThanOrEqual(7);
    for (const [, { Properties }] of others) expect(Properties["Handler"]).toMatch(/^framework\./);
    for (const [, { Properties }] of ours) expect(Properties["Architectures"]).toEqual(["arm64"]);
    for (const [id, { Properties }] of functions) {
      expect(Properties["Runtime"], id).toBe("nodejs24.x");
      const { LogGroup } = z
        .object({ LogGroup: z.object({ Ref: z.string() }) })
        .parse(Properties["LoggingConfig"]);
      expect(stack.resources[LogGroup.Ref]?.Properties["RetentionInDays"], id).toBeGreaterThan(0);
    }
    for (const [id, { Properties }] of stack.ofType("AWS::Logs::LogGroup"))
      expect(Properties["RetentionInDays"], id).toBeGreaterThan(0);
  });

  test("the stack can be deployed in every partition, and uses only the services that docs/deploy.md lists", () => {
    const given = JSON.stringify(variants[name]);
    const arns = JSON.stringify(stack.template.toJSON()).match(/arn:aws[\w-]*:[\w:/.*-]+/g) ?? [];
    expect(arns.filter((arn) => !given.includes(arn))).toEqual([]);
    for (const [, { Type }] of all()) {
      const [vendor, service = ""] = Type.split("::");
      if (vendor !== "AWS" || service === "CDK") continue;
      expect(services, Type).toContain(prefixOf(service));
    }
  });

  test("every alarm names an existing article of the runbook", () => {
    const alarms = stack.ofType("AWS::CloudWatch::Alarm");
    expect(alarms.length).toBeGreaterThan(10);
    for (const [id, { Properties }] of alarms) {
      const anchor = String(Properties["AlarmDescription"]).split("#").at(-1);
      expect(articles, id).toContain(anchor);
    }
  });

  test("the stack makes no route to the internet, and no database is public", () => {
    for (const type of ["AWS::EC2::NatGateway", "AWS::EC2::InternetGateway", "AWS::EC2::EIP"])
      expect(stack.ofType(type)).toEqual([]);
    for (const [, { Type, Properties, DeletionPolicy }] of all()) {
      if (!/^AWS::RDS::DB(Instance|Cluster)$/.test(Type)) continue;
      expect(Properties["PubliclyAccessible"] ?? false).toBe(false);
      // The instances of a cluster have neither storage nor snapshots of their own.
      if (Properties["DBClusterIdentifier"] !== undefined) continue;
      expect(Properties["StorageEncrypted"]).toBe(true);
      expect(DeletionPolicy).toBe("Snapshot");
    }
  });
});
