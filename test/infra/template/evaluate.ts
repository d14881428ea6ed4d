import { isObject, type Json, type JsonObject } from "../../../infra/tools/template/json.ts";

/** The parts of a template that are deployed. */
export interface Deployed {
  readonly resources: JsonObject;
  readonly outputs: JsonObject;
}

interface Scope {
  readonly values: Readonly<Record<string, string>>;
  readonly mappings: JsonObject;
  /** Undefined: the condition depends on where the stack is deployed. */
  readonly conditions: Readonly<Record<string, boolean | undefined>>;
}

const object = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});
const list = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);

/**
 * A template as CloudFormation sees it with these values of its parameters, in one form: texts for
 * scalars, no empty lists, sorted policies. The code of functions and metadata are left out.
 */
export function evaluated(template: JsonObject, values: Readonly<Record<string, string>>): Deployed {
  const scope: Scope = {
    values: { ...values, "AWS::StackName": "Carillon" },
    mappings: object(template["Mappings"]),
    conditions: Object.fromEntries(
      Object.entries(object(template["Conditions"])).map(([name, one]) => [name, holds(one, values)]),
    ),
  };
  const resources = existing(object(template["Resources"]), scope);
  for (const resource of Object.values(resources)) withDependencies(object(resource), resources);
  return { resources, outputs: existing(object(template["Outputs"]), scope) };
}

function holds(condition: Json, values: Readonly<Record<string, string>>): boolean | undefined {
  const [kind, inside] = Object.entries(object(condition))[0] ?? [];
  if (kind === "Fn::Not") {
    const not = holds(list(inside)[0] ?? null, values);
    return not === undefined ? undefined : !not;
  }
  const [one, other] = list(inside);
  const name = object(one)["Ref"];
  return kind === "Fn::Equals" && typeof name === "string" && name in values
    ? values[name] === other
    : undefined;
}

function existing(all: JsonObject, scope: Scope): JsonObject {
  const made = Object.entries(all).flatMap(([id, one]): [string, Json][] => {
    const { Condition, Metadata: _, ...own } = object(one);
    if (typeof Condition === "string" && scope.conditions[Condition] === false) return [];
    const resolved = object(resolve(own, scope));
    if (resolved["Type"] === "AWS::Lambda::Function") delete object(resolved["Properties"])["Code"];
    return [[id, resolved]];
  });
  return Object.fromEntries(made);
}

/** CloudFormation passes over dependencies on what a condition leaves out. */
function withDependencies(resource: JsonObject, all: JsonObject): void {
  const on = [resource["DependsOn"] ?? []].flat().filter((id) => String(id) in all);
  delete resource["DependsOn"];
  if (on.length > 0) resource["DependsOn"] = on.map(String).toSorted();
}

/** Undefined: no value. */
function resolve(value: Json, scope: Scope): Json | undefined {
  if (Array.isArray(value)) {
    const items = value.flatMap((each) => resolve(each, scope) ?? []);
    return items.length === 0 ? undefined : items;
  }
  if (!isObject(value)) return value === null ? null : String(value);
  const [kind = "", inside] = Object.entries(value)[0] ?? [];
  if (kind === "Ref" || kind.startsWith("Fn::")) return computed(kind, inside ?? null, scope);
  const entries = Object.entries(value).flatMap(([key, each]): [string, Json][] => {
    const resolved = resolve(each, scope);
    return resolved === undefined ? [] : [[key, key === "Resource" ? sorted(resolved) : resolved]];
  });
  return entries.length === 0 && Object.keys(value).length > 0 ? undefined : Object.fromEntries(entries);
}

function sorted(resource: Json): Json {
  const all = [resource]
    .flat()
    .toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  return all.length === 1 ? (all[0] ?? null) : all;
}

function computed(kind: string, inside: Json, scope: Scope): Json | undefined {
  const args = list(inside);
  switch (kind) {
    case "Ref":
      if (inside === "AWS::NoValue") return undefined;
      return scope.values[String(inside)] ?? { Ref: inside };
    case "Fn::If": {
      const holding = scope.conditions[String(args[0])];
      if (holding === undefined) return { [kind]: args.map((each) => resolve(each, scope) ?? null) };
      return resolve(args[holding ? 1 : 2] ?? null, scope);
    }
    case "Fn::FindInMap": {
      const [map, first, second] = args.map((each) => String(resolve(each, scope)));
      const found = object(object(scope.mappings[map ?? ""])[first ?? ""])[second ?? ""];
      if (found === undefined) throw new Error(`${map} has no ${second} for ${first}.`);
      return String(found);
    }
    case "Fn::Split":
      return partsOf(args[1] ?? null, scope).flatMap((part): Json[] =>
        typeof part === "string" ? part.split(",").filter((each) => each !== "") : [part],
      );
    case "Fn::Join": {
      const parts = partsOf({ [kind]: args }, scope);
      return parts.length === 1 && typeof parts[0] === "string" ? parts[0] : { [kind]: ["", parts] };
    }
    default:
      return { [kind]: Array.isArray(inside) ? args.map((each) => resolve(each, scope) ?? null) : inside };
  }
}

/** The parts of a joined text, with texts beside each other as one, and joins within it opened. */
function partsOf(value: Json, scope: Scope): Json[] {
  const join = object(value)["Fn::Join"];
  if (join === undefined) return [resolve(value, scope) ?? ""].flat();
  const [delimiter, items] = list(join);
  const all = list(items).flatMap((each, index) => [
    ...(index === 0 || delimiter === "" ? [] : [String(delimiter)]),
    ...list(opened(resolve(each, scope) ?? "")),
  ]);
  const parts: Json[] = [];
  for (const part of all) {
    const before = parts.at(-1);
    if (typeof before === "string" && typeof part === "string") parts[parts.length - 1] = before + part;
    else parts.push(part);
  }
  return parts;
}

function opened(value: Json): Json[] {
  const join = object(value)["Fn::Join"];
  return join === undefined ? [value] : list(list(join)[1]);
}
