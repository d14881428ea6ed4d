import { changeAt, isObject, type Json, type Path, textOf } from "./json.ts";

/** A change of the template that makes it depend on a parameter. */
export type Edit =
  /** The value is computed from the parameter. */
  | { readonly kind: "value"; readonly parameter: string; readonly path: Path; readonly value: Json }
  /** The value is there only under a condition; else another one is, or none. */
  | {
      readonly kind: "choice";
      readonly parameter: string;
      readonly path: Path;
      readonly condition: string;
      readonly otherwise: Json;
    }
  /** The value is there only where the condition does not hold. */
  | {
      readonly kind: "addition";
      readonly parameter: string;
      readonly path: Path;
      readonly condition: string;
      readonly value: Json;
    }
  /** The resource or the output exists only under a condition. */
  | {
      readonly kind: "existence";
      readonly parameter: string;
      readonly path: Path;
      readonly condition: string;
    };

export const nothing: Json = { Ref: "AWS::NoValue" };

/** Makes the changes, the deepest first, so that the place of each is still the one it was found at. */
export function applied(template: Json, edits: readonly Edit[]): Json {
  refuseConflicts(edits);
  const whole = structuredClone(template);
  const rank = ({ kind }: Edit) => (kind === "value" ? 0 : 1);
  const ordered = edits.toSorted(
    (one, other) => other.path.length - one.path.length || rank(one) - rank(other),
  );
  for (const edit of ordered) changeAt(whole, edit.path, (value) => changed(edit, value));
  return whole;
}

function changed(edit: Edit, value: Json | undefined): Json {
  switch (edit.kind) {
    case "value":
      return edit.value;
    case "choice":
      return { "Fn::If": [edit.condition, value ?? nothing, edit.otherwise] };
    case "addition":
      return { "Fn::If": [edit.condition, nothing, edit.value] };
    case "existence":
      if (!isObject(value))
        throw new Error(`${textOf(edit.path)}: only a resource or an output may be left out.`);
      return { ...value, Condition: edit.condition };
  }
}

/**
 * Two parameters that change one place would need a value for each pair of their values, and the
 * other value of a choice is the one that it has with the first values of all other parameters.
 */
function refuseConflicts(edits: readonly Edit[]): void {
  const seen = new Map<string, Edit>();
  for (const edit of edits) {
    const place = `${edit.kind === "value" ? "value" : "choice"} ${textOf(edit.path)}`;
    const before = seen.get(place);
    if (before !== undefined) refuse(before, edit);
    seen.set(place, edit);
  }
  for (const choice of edits) {
    if (choice.kind !== "choice" || choice.otherwise === nothing) continue;
    for (const edit of edits)
      if (edit.parameter !== choice.parameter && isBelow(edit.path, choice.path)) refuse(choice, edit);
  }
}

const isBelow = (path: Path, above: Path) => above.every((key, index) => path[index] === key);

function refuse(one: Edit, other: Edit): never {
  throw new Error(
    `${one.parameter} and ${other.parameter} both change ${textOf(other.path)}; one of them cannot be a parameter.`,
  );
}
