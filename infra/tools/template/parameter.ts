import type { Settings } from "../../settings.ts";

/** A parameter of the template that stands for a setting. */
export interface TemplateParameter {
  readonly name: string;
  readonly group: string;
  /** Parameters of one setting are the parts of a list, in their order. */
  readonly setting: keyof Settings;
  readonly description: string;
  /** Default: the parameter must be given. An empty text stands for a setting that is not given. */
  readonly byDefault?: string;
  /** The type of an identity that CloudFormation looks up. Default: a text. */
  readonly type?: "AWS::EC2::VPC::Id" | "AWS::EC2::Subnet::Id";
  readonly values: Values;
  /** Default: with all settings. */
  readonly onlyWith?: (settings: Settings) => boolean;
}

/**
 * The values of a parameter, and those that its effect is learned from; the first of these is in the
 * template that all others are compared with.
 */
export type Values =
  /** Each value may have values of its own in the template: it is learned from all of them. */
  | { readonly kind: "choice"; readonly learned: readonly string[] }
  /** The learned ones are `true`, then `false`. */
  | { readonly kind: "flag" }
  /** The text itself is in the template. */
  | {
      readonly kind: "text";
      readonly learned: readonly [string, string];
      readonly allowed?: readonly string[];
      /** A regular expression that Java, Python and JavaScript understand alike. */
      readonly pattern?: string;
      readonly takes?: string;
      readonly lengthMax?: number;
    };

export function learnedFrom({ values }: TemplateParameter): readonly string[] {
  return values.kind === "flag" ? ["true", "false"] : values.learned;
}

/** The value in the template that the others are compared with. */
export const baseOf = (parameter: TemplateParameter) => learnedFrom(parameter)[0] ?? "";

/** Whether the setting may be left out. */
export const isOptional = ({ byDefault }: TemplateParameter) => byDefault === "";

/** Settings as texts, in the form of the context, that these values of the parameters stand for. */
export function settingsOf(
  parameters: readonly TemplateParameter[],
  values: Readonly<Record<string, string>>,
): Record<string, string> {
  const given: Record<string, string> = {};
  for (const { name, setting } of parameters) {
    const value = values[name] ?? "";
    const before = given[setting];
    if (value !== "") given[setting] = before === undefined ? value : `${before},${value}`;
  }
  return given;
}

/** The values that the parameters have where none is given. */
export function defaultsOf(parameters: readonly TemplateParameter[]): Record<string, string> {
  return Object.fromEntries(
    parameters.map((parameter) => [parameter.name, parameter.byDefault ?? baseOf(parameter)]),
  );
}

/** A parameter as the template declares it. */
export function declarationOf({ description, byDefault, type, values }: TemplateParameter) {
  return {
    Type: type ?? "String",
    Description: description,
    ...(byDefault === undefined ? {} : { Default: byDefault }),
    ...(values.kind === "flag" ? { AllowedValues: ["true", "false"] } : {}),
    ...(values.kind === "choice" ? { AllowedValues: inOrder(values.learned) } : {}),
    ...(values.kind === "text" ? ofText(values, byDefault === "") : {}),
  };
}

function ofText({ allowed, pattern, takes, lengthMax }: Values & { kind: "text" }, optional: boolean) {
  return {
    ...(allowed === undefined ? {} : { AllowedValues: [...allowed] }),
    ...(pattern === undefined ? {} : { AllowedPattern: optional ? `^(${pattern})?$` : `^(${pattern})$` }),
    ...(takes === undefined ? {} : { ConstraintDescription: takes }),
    ...(lengthMax === undefined ? {} : { MaxLength: lengthMax }),
  };
}

/** Values from small to large; the learned ones begin with the one that others are compared with. */
export function inOrder(values: readonly string[]): string[] {
  return values.every((value) => Number.isFinite(Number(value)))
    ? values.toSorted((one, other) => Number(one) - Number(other))
    : values.toReversed();
}
