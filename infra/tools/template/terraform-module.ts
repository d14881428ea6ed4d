import { isObject, type Json } from "./json.ts";
import { inOrder, learnedFrom, type TemplateParameter } from "./parameter.ts";
import type { PlainTemplate } from "./plain-template.ts";

/**
 * The parts of the Terraform module that follow from the templates, by their files. They are written
 * with the templates and are in no repository, so they cannot differ from them.
 */
export function moduleFiles(templates: Readonly<Record<string, PlainTemplate>>): Record<string, string> {
  const all = Object.values(templates);
  const parameters = [
    ...new Map(all.flatMap((each) => each.parameters).map((each) => [each.name, each])).values(),
  ];
  const inEach = (name: string) => all.every((each) => each.parameters.some((one) => one.name === name));
  return {
    "variables.tf": parameters.map((each) => variable(each, inEach(each.name))).join("\n"),
    "parameters.tf": locals(Object.keys(templates), parameters),
    "outputs.tf": outputs(all.flatMap(({ template }) => Object.entries(sectionOf(template["Outputs"])))),
  };
}

/** `DatabaseStorageGiB` is `database_storage_gib`. */
export function terraformName(name: string): string {
  return name
    .replaceAll("GiB", "Gib")
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_")
    .toLowerCase();
}

function variable(parameter: TemplateParameter, isInEach: boolean): string {
  const { name, description, byDefault } = parameter;
  const own = terraformName(name);
  const type = typeOf(parameter);
  const value = byDefault === undefined ? null : type === "string" ? text(byDefault) : byDefault;
  const lines = [
    `variable "${own}" {`,
    `  type        = ${type}`,
    `  description = ${text(description)}`,
    // A parameter that only the template for a VPC has is not needed for the other one.
    ...(value === null ? (isInEach ? [] : ["  default     = null"]) : [`  default     = ${value}`]),
    ...validation(own, parameter),
    "}",
  ];
  return `${lines.join("\n")}\n`;
}

/** CloudFormation checks patterns before it makes anything; Terraform's plan already names these. */
function validation(own: string, { values }: TemplateParameter): string[] {
  const allowed =
    values.kind === "choice" ? inOrder(values.learned) : values.kind === "text" ? values.allowed : undefined;
  if (allowed === undefined) return [];
  return [
    "",
    "  validation {",
    `    condition     = contains([${allowed.map(text).join(", ")}], tostring(var.${own}))`,
    `    error_message = ${text(`It takes one of ${allowed.join(", ")}.`)}`,
    "  }",
  ];
}

function typeOf(parameter: TemplateParameter): "bool" | "number" | "string" {
  if (parameter.values.kind === "flag") return "bool";
  return learnedFrom(parameter).every((value) => /^\d+$/.test(value)) ? "number" : "string";
}

function locals(files: readonly string[], parameters: readonly TemplateParameter[]): string {
  const [ownNetwork = "", inVpc] = files;
  const template =
    inVpc === undefined ? text(ownNetwork) : `var.vpc_id == null ? ${text(ownNetwork)} : ${text(inVpc)}`;
  const width = Math.max(...parameters.map(({ name }) => name.length));
  const given = parameters.map(({ name }) => `    ${name.padEnd(width)} = var.${terraformName(name)}`);
  return `locals {
  template = ${template}

  given = {
${given.join("\n")}
  }

  parameters = { for name, value in local.given : name => tostring(value) if value != null }
}
`;
}

function outputs(of: readonly (readonly [string, Json])[]): string {
  const blocks = [...new Map(of)].map(
    ([name, output]) => `output "${terraformName(name)}" {
  value       = aws_cloudformation_stack.carillon.outputs["${name}"]
  description = ${text(String(sectionOf(output)["Description"] ?? name))}
}
`,
  );
  return blocks.join("\n");
}

function sectionOf(value: Json | undefined) {
  return isObject(value) ? value : {};
}

/** A text in Terraform's language, where ${ and %{ begin templates. */
function text(value: string): string {
  return JSON.stringify(value).replaceAll("${", "$${").replaceAll("%{", "%%{");
}
