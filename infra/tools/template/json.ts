import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";

export type Json = z.infer<ReturnType<typeof z.json>>;
export type JsonObject = { [key: string]: Json };

/** A place in a template: names of keys and places in lists. */
export type Path = readonly (string | number)[];

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isScalar(value: Json): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

/** Whether CloudFormation computes the value: `{ "Ref": … }` or `{ "Fn::…": … }`. */
export function isComputed(value: Json): boolean {
  return isObject(value) && Object.keys(value).some((key) => key === "Ref" || key.startsWith("Fn::"));
}

export const isSame = (one: Json | undefined, other: Json | undefined) => isDeepStrictEqual(one, other);

export const textOf = (path: Path) => path.join(".");

/** Changes the value at a place. A value that is undefined before has its key added. */
export function changeAt(whole: Json, path: Path, change: (value: Json | undefined) => Json): void {
  const holder = path.slice(0, -1).reduce<Json | undefined>((value, key) => childOf(value, key), whole);
  const key = path.at(-1);
  if (key === undefined) throw new Error("The whole template cannot be changed at once.");
  if (Array.isArray(holder) && typeof key === "number") holder[key] = change(holder[key]);
  else if (isObject(holder)) holder[key] = change(holder[key]);
  else throw new Error(`${textOf(path)}: the template has no such place.`);
}

function childOf(value: Json | undefined, key: string | number): Json | undefined {
  if (Array.isArray(value)) return value[Number(key)];
  return isObject(value) ? value[key] : undefined;
}
