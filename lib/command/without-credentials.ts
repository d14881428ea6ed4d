import type { Json } from "../schedule/shape/json.ts";
import { carriesCredential } from "../schedule/shape/target-credentials.ts";

const hidden = "***";

/**
 * A refused command as it may be stored and shown. Since it was refused, its fields may be in the
 * wrong place. So every member with the name of a credential is hidden, at any depth, except in the
 * payload, which other pages show as well.
 */
export function withoutCredentials(command: Json): Json {
  if (!isRecord(command)) return command;
  return mapped(command, (value, name) => {
    if (!isRecord(value)) return name === "key" ? value : shown(value, name);
    return mapped(value, (member, name) => {
      if (name === "key" || name === "payload") return member;
      return shown(member, name);
    });
  });
}

function shown(value: Json, name: string): Json {
  if (carriesCredential(name)) return value === null ? null : hidden;
  if (typeof value === "string") return withoutUserinfo(value);
  if (Array.isArray(value)) return value.map((each) => shown(each, ""));
  return isRecord(value) ? mapped(value, shown) : value;
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
