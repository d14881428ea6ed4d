import type { Json } from "../../../client/json.ts";

/** The text in a command at the path of a fault, such as `put.when` or `put.when[1]`; undefined for another value. */
export function textAt(command: Json, path: string): string | undefined {
  let value: Json | undefined = command;
  for (const name of path.split(/[.[\]]+/).filter((part) => part !== "")) {
    if (typeof value !== "object" || value === null) return undefined;
    value = Object.entries(value).find(([each]) => each === name)?.[1];
  }
  return typeof value === "string" ? value : undefined;
}
