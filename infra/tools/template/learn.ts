import type { Edit } from "./edits.ts";
import { isObject, isSame, isScalar, type Json, type Path, textOf } from "./json.ts";
import { learnAbsence } from "./learn-absence.ts";
import { baseOf, isOptional, learnedFrom, type TemplateParameter } from "./parameter.ts";

/** Makes the template in which this parameter has this value, and all others their first one. */
export type Synthesise = (parameter: TemplateParameter, value: string) => Json;

export interface Learned {
  readonly edits: readonly Edit[];
  readonly conditions: Readonly<Record<string, Json>>;
  /** A CloudFormation mapping from the parameter's values to those of the template. */
  readonly mapping: Readonly<Record<string, Readonly<Record<string, Json>>>>;
}

/**
 * Finds every place of the template that a parameter decides, by comparing the templates that the
 * construct makes for some of its values, or for all. The construct remains the only place that
 * knows the effect of a setting, also where it computes something from it.
 */
export function learn(base: Json, parameter: TemplateParameter, synthesise: Synthesise): Learned {
  const { name, values } = parameter;
  const [, ...others] = learnedFrom(parameter);
  if (values.kind === "flag") {
    const condition = `Is${name}`;
    const edits = learnAbsence(base, synthesise(parameter, "false"), {
      parameter: name,
      condition,
      flag: true,
    });
    return withCondition(edits, condition, { "Fn::Equals": [{ Ref: name }, "true"] });
  }
  const samples = others.map((value) => ({ value, template: synthesise(parameter, value) }));
  const mapping: Record<string, Record<string, Json>> = {};
  const edits: Edit[] = [];
  const learning = { parameter, samples, edits, mapping };
  compare(
    learning,
    [],
    base,
    samples.map(({ template }) => template),
  );
  if (!isOptional(parameter)) return { edits, conditions: {}, mapping };
  const condition = `Has${name}`;
  const absence = learnAbsence(base, synthesise(parameter, ""), { parameter: name, condition });
  const learned = withCondition(absence, condition, { "Fn::Not": [{ "Fn::Equals": [{ Ref: name }, ""] }] });
  return { ...learned, edits: [...edits, ...learned.edits], mapping };
}

function withCondition(edits: readonly Edit[], name: string, condition: Json): Learned {
  const used = edits.some((edit) => "condition" in edit);
  return { edits, conditions: used ? { [name]: condition } : {}, mapping: {} };
}

interface Learning {
  readonly parameter: TemplateParameter;
  readonly samples: readonly { readonly value: string }[];
  readonly edits: Edit[];
  readonly mapping: Record<string, Record<string, Json>>;
}

function compare(learning: Learning, path: Path, base: Json, others: readonly Json[]): void {
  if (others.every((other) => isSame(base, other))) return;
  const value = computed(learning, base, others);
  if (value !== undefined) {
    learning.edits.push({ kind: "value", parameter: learning.parameter.name, path, value });
  } else if (
    Array.isArray(base) &&
    others.every((other) => Array.isArray(other) && other.length === base.length)
  ) {
    for (const [index, each] of base.entries())
      compare(
        learning,
        [...path, index],
        each,
        others.map((other) => inside(other, index)),
      );
  } else if (isObject(base) && others.every((other) => isObject(other) && hasSameKeys(base, other))) {
    for (const [key, each] of Object.entries(base))
      compare(
        learning,
        [...path, key],
        each,
        others.map((other) => inside(other, key)),
      );
  } else if (learning.parameter.values.kind === "choice" && [base, ...others].every(isScalar)) {
    map(learning, path, base, others);
  } else {
    throw new Error(
      `${learning.parameter.name}: ${textOf(path)} changes in a way that no parameter can follow.`,
    );
  }
}

const hasSameKeys = (one: object, other: object) =>
  isSame(Object.keys(one).toSorted(), Object.keys(other).toSorted());

function inside(value: Json, key: string | number): Json {
  if (Array.isArray(value)) return value[Number(key)] ?? null;
  return isObject(value) ? (value[key] ?? null) : null;
}

/** The value as an expression of the parameter's text, where it is one for every value. */
function computed({ parameter, samples }: Learning, base: Json, others: readonly Json[]): Json | undefined {
  const reference = { Ref: parameter.name };
  const first = baseOf(parameter);
  const every = (fits: (value: Json, text: string) => boolean) =>
    fits(base, first) && others.every((other, index) => fits(other, samples[index]?.value ?? ""));
  if (every((value, text) => isScalar(value) && String(value) === text)) return reference;
  if (typeof base === "string" && base.includes(first)) {
    const parts = base.split(first);
    if (every((value, text) => value === parts.join(text))) return joined(parts, reference);
  }
  if (!Array.isArray(base) || !first.includes(",")) return undefined;
  return listed(base, first, reference, every);
}

/** A text in which the parameter's value stands between parts. */
function joined(parts: readonly string[], reference: Json): Json {
  const all = parts.flatMap((part, index) => (index === 0 ? [part] : [reference, part]));
  return { "Fn::Join": ["", all.filter((part) => part !== "")] };
}

/**
 * A list that holds the parameter's items, perhaps with others before and after them. CloudFormation
 * has no function that appends lists, but ARNs have no commas.
 */
function listed(
  base: Json[],
  first: string,
  reference: Json,
  every: (fits: (value: Json, text: string) => boolean) => boolean,
): Json | undefined {
  const items = first.split(",");
  const at = base.findIndex((_, index) => isSame(base.slice(index, index + items.length), items));
  if (at === -1) return undefined;
  const [before, after] = [base.slice(0, at), base.slice(at + items.length)];
  if (!every((value, text) => isSame(value, [...before, ...text.split(","), ...after]))) return undefined;
  const all = [...before, reference, ...after];
  return { "Fn::Split": [",", all.length === 1 ? reference : { "Fn::Join": [",", all] }] };
}

/** A value that the construct computes from the setting: one for each of the parameter's values. */
function map(
  { parameter, samples, edits, mapping }: Learning,
  path: Path,
  base: Json,
  others: readonly Json[],
): void {
  const key = textOf(path.filter((each) => each !== "Resources" && each !== "Properties")).replaceAll(
    /[^A-Za-z0-9]/g,
    "",
  );
  const texts = [baseOf(parameter), ...samples.map(({ value }) => value)];
  for (const [index, value] of [base, ...others].entries()) {
    const text = texts[index] ?? "";
    mapping[text] = { ...mapping[text], [key]: value };
  }
  const value = { "Fn::FindInMap": [parameter.name, { Ref: parameter.name }, key] };
  edits.push({ kind: "value", parameter: parameter.name, path, value });
}
