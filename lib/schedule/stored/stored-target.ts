import type { Target } from "../shape/target-shape.ts";

/**
 * Whether a stored target can be shown and delivered to. Only the types of its values are checked:
 * the rules may have been different when it was written, and a newer release may have more fields.
 */
export function isStoredTarget(target: unknown): target is Target {
  if (!isRecord(target)) return false;
  const { handler, queue, lambda, event, webhook } = target;
  if (event !== undefined) return isRecord(event) && isText(event["bus"]);
  if (queue !== undefined) return isText(queue) && areTextsByName(target["attributes"]);
  if (webhook === undefined) return isText(handler ?? lambda);
  if (!isRecord(webhook) || !isRecord(webhook["headers"])) return false;
  return typeof webhook["url"] === "string" && URL.canParse(webhook["url"]);
}

const areTextsByName = (value: unknown) =>
  value === undefined || (isRecord(value) && Object.values(value).every(isText));

export const isText = (value: unknown): boolean => typeof value === "string";

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The type of a value without the value itself, which may be a credential. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list that does not fit";
  switch (typeof value) {
    case "object":
      return "an object that does not fit";
    case "string":
      return "a text that does not fit";
    default:
      return `a ${typeof value}`;
  }
}
