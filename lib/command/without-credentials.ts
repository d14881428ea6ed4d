import type { Json } from "../schedule/shape/json.ts";
import { isHidden } from "../schedule/shape/webhook-credentials.ts";
import { withParameters } from "../schedule/shape/webhook-parameters.ts";

const hidden = "***";

/**
 * A refused command as it may be stored and shown. Since it was refused, its fields may be in the
 * wrong place. So every member with the name of a credential is hidden, at any depth, except in the
 * payload, which other pages show as well. Names in `secretHeaders` and `secretQuery` count too.
 */
export function withoutCredentials(command: Json): Json {
  if (!isRecord(command)) return command;
  const named = {
    secretHeaders: textsOf(command, "secretHeaders"),
    secretQuery: textsOf(command, "secretQuery"),
  };
  const hides = (kind: "header" | "query", name: string) =>
    isHidden(named, { kind, name, nth: 0, value: "" });
  const shown = (value: Json, name: string): Json => {
    if (hides("header", name)) return value === null || isListOfNames(name) ? value : hidden;
    if (typeof value === "string")
      return withParameters(withoutUserinfo(value), (each) =>
        hides("query", each.name) ? hidden : each.value,
      );
    if (Array.isArray(value)) return value.map((each) => shown(each, ""));
    return isRecord(value) ? mapped(value, shown) : value;
  };
  return mapped(command, (value, name) => {
    if (!isRecord(value)) return name === "key" ? value : shown(value, name);
    return mapped(value, (member, name) => {
      if (name === "key" || name === "payload") return member;
      return shown(member, name);
    });
  });
}

/** The lists of names have the name of a credential themselves. */
const isListOfNames = (name: string) => name === "secretHeaders" || name === "secretQuery";

/** The texts of all lists with this name, at any depth. */
function textsOf(value: Json, name: string): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => textsOf(each, name));
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([own, member]) =>
    own === name && Array.isArray(member)
      ? member.filter((each) => typeof each === "string")
      : textsOf(member, name),
  );
}

/** Hides the credentials of a URL such as `https://user:password@host/`. */
function withoutUserinfo(text: string): string {
  return text.replace(/\/\/[^/?#\s]*@/g, `//${hidden}@`);
}

function isRecord(value: Json): value is { [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function mapped(
  record: { [name: string]: Json },
  change: (value: Json, name: string) => Json,
): { [name: string]: Json } {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value, name)]));
}
