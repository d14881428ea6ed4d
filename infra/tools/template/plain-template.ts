import { settingsOfValues } from "../../settings.ts";
import { codeParameters } from "./code-synthesizer.ts";
import { connectionRules } from "./connection-rules.ts";
import { applied } from "./edits.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";
import { learn } from "./learn.ts";
import { baseOf, declarationOf, settingsOf, type TemplateParameter } from "./parameter.ts";
import { apiParameters } from "./parameters/api.ts";
import { databaseParameters } from "./parameters/database.ts";
import { anyZones, networkParameters, networkRules } from "./parameters/network.ts";
import { operationsParameters } from "./parameters/operations.ts";
import { targetsParameters } from "./parameters/targets.ts";
import { workParameters } from "./parameters/work.ts";
import { type GivenValues, standInName, templateOf } from "./synthesis.ts";

/** The template of a deployment: in a network of its own, or in a VPC that exists. */
export interface PlainTemplate {
  readonly template: JsonObject;
  /** The parameters that decide something in the template. */
  readonly parameters: readonly TemplateParameter[];
  /** The settings of the template that it was made from. */
  readonly base: GivenValues;
}

const common = [
  ...databaseParameters,
  ...workParameters,
  ...apiParameters,
  ...targetsParameters,
  ...operationsParameters,
];

/** Schedules in other stacks need the output of the function behind them, and no parameter can add one. */
const always: GivenValues = { stackSchedules: true };

/**
 * The template for these settings, in which the common ones of all others are parameters. Each
 * parameter is learned from the templates that the construct makes for its values.
 */
export function plainTemplate(given: GivenValues, inVpc: boolean): PlainTemplate {
  const fixed = { ...always, ...(inVpc ? { vpcAvailabilityZones: anyZones } : {}), ...given };
  const settings = settingsOfValues(given);
  const candidates = [...(inVpc ? networkParameters : []), ...common].filter(
    ({ setting, onlyWith }) => !(setting in given) && (onlyWith === undefined || onlyWith(settings)),
  );
  const first = Object.fromEntries(candidates.map((parameter) => [parameter.name, baseOf(parameter)]));
  const base = { ...fixed, ...settingsOf(candidates, first) };
  const made = templateOf(base);
  const learned = candidates.map((parameter) => ({
    parameter,
    ...learn(made, parameter, ({ name }, value) =>
      templateOf({ ...fixed, ...settingsOf(candidates, { ...first, [name]: value }) }),
    ),
  }));
  // A parameter that decides nothing with the given settings would only mislead.
  const used = learned.filter(({ edits }) => edits.length > 0);
  const parameters = used.map(({ parameter }) => parameter);
  const changed = named(
    applied(
      made,
      used.flatMap(({ edits }) => edits),
    ),
  );
  if (!isObject(changed)) throw new Error("The CDK made no template.");
  const mappings = used.flatMap(({ parameter, mapping }) =>
    Object.keys(mapping).length === 0 ? [] : [[parameter.name, mapping] as const],
  );
  const template = {
    ...withoutMetadata(changed),
    Metadata: interfaceOf(parameters),
    Parameters: declared(changed["Parameters"], parameters),
    Rules: { ...(inVpc ? networkRules : {}), ...connectionRules(parameters, given) },
    Mappings: Object.fromEntries(mappings),
    Conditions: Object.assign({}, changed["Conditions"], ...used.map(({ conditions }) => conditions)),
  };
  return { template: inOrder(template), parameters, base };
}

function declared(code: Json | undefined, parameters: readonly TemplateParameter[]): JsonObject {
  if (!isObject(code)) throw new Error("The template has no parameters that name the functions' code.");
  return { ...code, ...Object.fromEntries(parameters.map((each) => [each.name, declarationOf(each)])) };
}

/** How the console groups the parameters. */
function interfaceOf(parameters: readonly TemplateParameter[]): JsonObject {
  const groups = Map.groupBy(parameters, ({ group }) => group);
  const ParameterGroups = [
    { Label: { default: "Code" }, Parameters: [...codeParameters] },
    ...[...groups].map(([label, members]) => ({
      Label: { default: label },
      Parameters: members.map(({ name }) => name),
    })),
  ];
  return { "AWS::CloudFormation::Interface": { ParameterGroups } };
}

/** The name of the stack, wherever it is a part of a text. */
function named(value: Json): Json {
  if (typeof value === "string" && value.includes(standInName)) {
    const reference = { Ref: "AWS::StackName" };
    const parts = value
      .split(standInName)
      .flatMap((part, index) => (index === 0 ? [part] : [reference, part]));
    const all = parts.filter((part) => part !== "");
    return all.length === 1 ? reference : { "Fn::Join": ["", all] };
  }
  if (Array.isArray(value)) return value.map(named);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, named(each)]));
}

/** Metadata of the CDK is for its own tools; that of cfn-lint stays. */
function withoutMetadata(template: JsonObject): JsonObject {
  const { Resources, ...others } = template;
  if (!isObject(Resources)) throw new Error("The CDK made a template without resources.");
  const resources = Object.entries(Resources).map(([id, resource]) => {
    if (!isObject(resource)) throw new Error(`${id}: a resource is an object.`);
    const { Metadata, ...own } = resource;
    const lint = isObject(Metadata) ? Metadata["cfn-lint"] : undefined;
    return [id, lint === undefined ? own : { ...own, Metadata: { "cfn-lint": lint } }];
  });
  return { ...others, Resources: Object.fromEntries(resources) };
}

const sections = [
  ...["AWSTemplateFormatVersion", "Description", "Metadata", "Parameters", "Rules", "Mappings", "Conditions"],
  ...["Resources", "Outputs"],
];

/** The sections in the order in which people read them, without empty ones, which are not allowed. */
function inOrder(template: JsonObject): JsonObject {
  const unknown = Object.keys(template).filter((section) => !sections.includes(section));
  if (unknown.length > 0) throw new Error(`A plain template has no section ${unknown.join(", ")}.`);
  const all: JsonObject = { AWSTemplateFormatVersion: "2010-09-09", ...template };
  return Object.fromEntries(
    sections.flatMap((section) => {
      const value = all[section];
      return value === undefined || (isObject(value) && Object.keys(value).length === 0)
        ? []
        : [[section, value]];
    }),
  );
}
