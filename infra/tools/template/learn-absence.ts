import { type Edit, nothing } from "./edits.ts";
import { isComputed, isObject, isSame, type Json, type JsonObject, type Path, textOf } from "./json.ts";

interface Absent {
  readonly parameter: string;
  /** The condition under which the template is the one that is compared with. */
  readonly condition: string;
  /** The parameter is `true` or `false`, and a value that is the same as it may refer to it. */
  readonly flag?: boolean;
}

/** Finds what the template lacks, or has otherwise, where a setting is not given or false. */
export function learnAbsence(base: Json, other: Json, absent: Absent): Edit[] {
  const edits: Edit[] = [];
  for (const [section, is, without] of pairs(object(base, "the template"), object(other, "the template"))) {
    if (isSame(is, without)) continue;
    if (section !== "Resources" && section !== "Outputs")
      throw new Error(`${absent.parameter}: it changes the section ${section}, which no parameter can.`);
    for (const [id, resource, changed] of pairs(object(is, section), object(without, section))) {
      if (isSame(resource, changed)) continue;
      edits.push(...ofResource(absent, [section, id], resource, changed));
    }
  }
  return edits;
}

function ofResource(absent: Absent, path: Path, is: Json | undefined, other: Json | undefined): Edit[] {
  const { parameter, condition } = absent;
  if (other === undefined) return [{ kind: "existence", parameter, path, condition }];
  if (!isObject(is) || !isObject(other))
    throw new Error(`${parameter}: without it there is ${textOf(path)}, and only the opposite is possible.`);
  return pairs(is, other).flatMap(([key, own, changed]) => {
    const place = [...path, key];
    if (key === "Properties" || path[0] === "Outputs") return compare(absent, place, own, changed);
    // CloudFormation passes over a dependency on a resource that a condition leaves out.
    if (isSame(own, changed) || (key === "DependsOn" && isPartOf(changed, own))) return [];
    throw new Error(`${parameter}: it changes ${textOf(place)}, which no parameter can.`);
  });
}

function compare(absent: Absent, path: Path, is: Json | undefined, other: Json | undefined): Edit[] {
  const { parameter, condition, flag } = absent;
  if (isSame(is, other)) return [];
  if (is === undefined)
    return other === undefined ? [] : [{ kind: "addition", parameter, path, condition, value: other }];
  if (flag && String(is) === "true" && String(other) === "false")
    return [{ kind: "value", parameter, path, value: { Ref: parameter } }];
  if (isObject(is) && isObject(other) && !isComputed(is) && !isComputed(other))
    return pairs(is, other).flatMap(([key, own, changed]) => compare(absent, [...path, key], own, changed));
  if (Array.isArray(is) && Array.isArray(other) && is.length === other.length)
    return is.flatMap((each, index) => compare(absent, [...path, index], each, other[index]));
  return [{ kind: "choice", parameter, path, condition, otherwise: other ?? nothing }];
}

/** The keys of either with the values of both. */
function pairs(one: JsonObject, other: JsonObject): [string, Json | undefined, Json | undefined][] {
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  return keys.map((key) => [key, one[key], other[key]]);
}

function object(value: Json | undefined, what: string): JsonObject {
  if (isObject(value)) return value;
  throw new Error(`${what}: a template has an object here.`);
}

function isPartOf(some: Json | undefined, all: Json | undefined): boolean {
  if (some === undefined) return true;
  const [part, whole] = [[some].flat(), [all ?? null].flat()];
  return part.every((each) => whole.some((one) => isSame(one, each)));
}
