/**
 * The text of any value, such as a thrown one. It never fails, though some values cannot be
 * converted to text.
 */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  try {
    return String(value);
  } catch {
    return `a value without text (${typeof value})`;
  }
}
