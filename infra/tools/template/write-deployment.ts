import { createHash } from "node:crypto";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { packageRoot } from "../../package-root.ts";
import { settingsOfValues } from "../../settings.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";
import { type PlainTemplate, plainTemplate } from "./plain-template.ts";
import { bundledTemplateOf, type GivenValues } from "./synthesis.ts";
import { moduleFiles } from "./terraform-module.ts";

/** The templates by the names of their files. */
export const templateFiles = {
  ownNetwork: "carillon.template.json",
  inVpc: "carillon-in-vpc.template.json",
} as const;

const ofNetwork = ["vpcId", "vpcSubnetIds", "vpcAvailabilityZones", "functionsInVpc", "endpoints"];

/** Writes all that a deployment without the CDK needs to the folder. Returns a line about each part. */
export function writeDeployment(folder: string, given: GivenValues): string[] {
  const templates = templatesFor(given);
  const [first] = Object.values(templates);
  const { template: bundled, zips } = bundledTemplateOf(first?.base ?? given, nameOf);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(path.join(folder, "terraform"), { recursive: true });
  const write = (file: string, text: string | Uint8Array) => writeFileSync(path.join(folder, file), text);
  const lines = Object.entries(templates).map(([file, plain]) => {
    const text = `${JSON.stringify(withCode(plain.template, bundled), null, 1)}\n`;
    write(file, text);
    return `${file}: ${plain.parameters.length} parameters for settings, ${Math.ceil(Buffer.byteLength(text) / 1024)} KB`;
  });
  for (const [name, zip] of Object.entries(zips)) write(name, zip);
  cpSync(path.join(packageRoot, "infra", "terraform"), path.join(folder, "terraform"), { recursive: true });
  for (const [file, text] of Object.entries(moduleFiles(templates)))
    write(path.join("terraform", file), text);
  write("README.md", readme(Object.keys(templates)));
  return [...lines, `${Object.keys(zips).length} zips and terraform/`, `Written to ${folder}`];
}

/**
 * Two templates and not one with a condition: in an existing VPC the functions' way out is another one,
 * and each template is what the construct makes. Settings of the network leave one.
 */
function templatesFor(given: GivenValues): Record<string, PlainTemplate> {
  const { database } = settingsOfValues(given);
  const isElsewhere = database === "existing" || database === "external";
  if (ofNetwork.some((setting) => setting in given))
    return { [templateFiles.ownNetwork]: plainTemplate(given, false) };
  return {
    ...(isElsewhere ? {} : { [templateFiles.ownNetwork]: plainTemplate(given, false) }),
    [templateFiles.inVpc]: plainTemplate(given, true),
  };
}

/** A name that follows from the bytes: new code has a new name, which tells CloudFormation of it. */
function nameOf(zip: Uint8Array): string {
  return `${createHash("sha256").update(zip).digest("hex").slice(0, 32)}.zip`;
}

function withCode(template: JsonObject, bundled: Json): JsonObject {
  const codeOf = (id: string) => propertiesOf(resourcesOf(bundled)[id])?.["Code"];
  const resources = Object.entries(resourcesOf(template)).map(([id, resource]): [string, Json] => {
    if (!isObject(resource) || resource["Type"] !== "AWS::Lambda::Function") return [id, resource];
    const Code = codeOf(id);
    if (Code === undefined) throw new Error(`${id}: the function has no bundle.`);
    return [id, { ...resource, Properties: { ...propertiesOf(resource), Code } }];
  });
  return { ...template, Resources: Object.fromEntries(resources) };
}

function resourcesOf(template: Json): JsonObject {
  if (isObject(template) && isObject(template["Resources"])) return template["Resources"];
  throw new Error("The CDK made a template without resources.");
}

function propertiesOf(resource: Json | undefined): JsonObject | undefined {
  const properties = isObject(resource) ? resource["Properties"] : undefined;
  return isObject(properties) ? properties : undefined;
}

function readme(files: readonly string[]): string {
  const commands = files.map(
    (file) => `    aws cloudformation deploy --stack-name Carillon --template-file ${file} \\
      --s3-bucket BUCKET --s3-prefix carillon --capabilities CAPABILITY_IAM \\
      --parameter-overrides CodeBucket=BUCKET CodePrefix=carillon/`,
  );
  return `# Carillon without the CDK

Upload the code to a bucket in the region of the stack, then deploy ${files.length === 1 ? "the template" : "one of the two templates"}:

    aws s3 cp --recursive . s3://BUCKET/carillon/ --exclude "*" --include "*.zip"

${commands.join("\n\nor, in a VPC of yours, with its VpcId, SubnetOne and SubnetTwo among the overrides:\n\n")}

terraform/ is a Terraform module that does both. docs/deploy.md, "Without CDK", has the rest.
`;
}
