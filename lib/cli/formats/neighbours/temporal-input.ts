import type { Json } from "../../../client/main.ts";
import { isJson } from "../../../schedule/shape/json.ts";
import { isObject } from "../found.ts";

/**
 * The arguments of a workflow: a list of JSON, as the CLI prints them in short, or payloads with an
 * encoding in base64. Null for an encoding other than JSON.
 */
export function temporalInput(input: Json | undefined): Json[] | null {
  if (input === undefined || input === null) return [];
  if (Array.isArray(input)) return input;
  const { payloads } = isObject(input) ? input : {};
  if (!Array.isArray(payloads)) return null;
  const values: Json[] = [];
  for (const payload of payloads) {
    const value = valueIn(payload);
    if (value === undefined) return null;
    values.push(value);
  }
  return values;
}

function valueIn(payload: unknown): Json | undefined {
  if (!isObject(payload) || !isObject(payload["metadata"])) return undefined;
  const { data } = payload;
  const encoding = textOf(payload["metadata"]["encoding"]);
  if (encoding === "binary/null") return null;
  if (!/^json\//.test(encoding)) return undefined;
  try {
    const value: unknown = JSON.parse(textOf(data));
    return isJson(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function textOf(base64: unknown): string {
  return typeof base64 === "string" ? Buffer.from(base64, "base64").toString() : "";
}
