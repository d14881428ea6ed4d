/** The JSON values of a text that holds one after the other, as commands leave them that print into one file; null where it is no JSON. */
export function jsonValues(text: string): unknown[] | null {
  const values: unknown[] = [];
  for (const part of valueTexts(text)) {
    try {
      values.push(JSON.parse(part));
    } catch {
      return null;
    }
  }
  return values.length === 0 ? null : values;
}

/** A value ends where all brackets are closed. */
function valueTexts(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  let open = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]+|\\.)*"|[[\]{}]/gs)) {
    if (token.startsWith('"')) continue;
    open += token === "[" || token === "{" ? 1 : -1;
    if (open !== 0) continue;
    parts.push(text.slice(start, index + 1));
    start = index + 1;
  }
  const rest = text.slice(start);
  return rest.trim() === "" ? parts : [...parts, rest];
}
