import type { Json } from "../schedule/shape/json.ts";
import { carriesCredential } from "../schedule/shape/target-credentials.ts";

const hidden = "***";

/**
 * A command as it may be kept and shown. It was refused, so nothing in it is known to stand where it belongs: whatever is named as a
 * credential is hidden wherever it is, save in the payload, which is shown elsewhere as well.
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

/** Of a URL such as `https://user:password@host/`. */
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
