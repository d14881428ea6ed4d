import { checkConnectionBudget } from "../../database/connection-budget.ts";
import { settingsOfValues } from "../../settings.ts";
import type { Json } from "./json.ts";
import { learnedFrom, settingsOf, type TemplateParameter } from "./parameter.ts";

/** The parameters that decide whether the functions' connections fit the database and its memory. */
const counted: readonly string[] = ["databaseClass", "fastConcurrency", "slowConcurrency"];

/**
 * CloudFormation's rules that refuse what the construct's own check of connections and memory refuses. Rules know
 * no arithmetic, so each lists what is allowed for the last parameter with values of those before it.
 */
export function connectionRules(
  parameters: readonly TemplateParameter[],
  fixed: Readonly<Record<string, unknown>>,
): Record<string, Json> {
  const axes = parameters.filter(({ setting }) => counted.includes(setting));
  const last = axes.at(-1);
  if (last === undefined) return {};
  const rules: Record<string, Json> = {};
  for (const before of everyCombination(axes.slice(0, -1))) {
    const every = learnedFrom(last);
    const allowed = every.filter((value) => fits(axes, { ...before, [last.name]: value }, fixed));
    if (allowed.length === every.length) continue;
    const names = Object.values(before).map((value) => value.replaceAll(/\W/g, ""));
    rules[["Connections", ...names].join("")] = ruleOf(before, last, allowed);
  }
  return rules;
}

function ruleOf(before: Readonly<Record<string, string>>, last: TemplateParameter, allowed: string[]): Json {
  const given = Object.entries(before).map(([name, value]) => ({ "Fn::Equals": [{ Ref: name }, value] }));
  const [only, ...more] = given;
  const condition: Json | undefined = more.length === 0 ? only : { "Fn::And": given };
  const told = Object.entries(before).map(([name, value]) => `${name} ${value}`);
  const most = allowed.toSorted((one, other) => Number(one) - Number(other)).at(-1);
  const limit = most === undefined ? `no ${last.name} fits` : `${last.name} may be ${most} at most`;
  return {
    ...(condition === undefined ? {} : { RuleCondition: condition }),
    Assertions: [
      {
        Assert: { "Fn::Contains": [allowed, { Ref: last.name }] },
        AssertDescription: `The database has too few connections or too little memory: with ${told.join(" and ")}, ${limit}.`,
      },
    ],
  };
}

function everyCombination(axes: readonly TemplateParameter[]): Record<string, string>[] {
  return axes.reduce<Record<string, string>[]>(
    (made, axis) => made.flatMap((one) => learnedFrom(axis).map((value) => ({ ...one, [axis.name]: value }))),
    [{}],
  );
}

function fits(
  axes: readonly TemplateParameter[],
  values: Readonly<Record<string, string>>,
  fixed: Readonly<Record<string, unknown>>,
): boolean {
  const settings = settingsOfValues({ ...fixed, ...settingsOf(axes, values) });
  try {
    checkConnectionBudget(settings);
    return true;
  } catch {
    return false;
  }
}
