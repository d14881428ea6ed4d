/** The text of anything that was thrown or given. Never fails: not everything can be made into text. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  try {
    return String(value);
  } catch {
    return `a value without text (${typeof value})`;
  }
}
