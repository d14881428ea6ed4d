/**
 * The JSON values of a text with one value after the other, such as the output of several commands
 * in one file; null where it is not JSON.
 */
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

/**
 * A value ends where all brackets are closed. The text is scanned by character, because a regular
 * expression for strings takes too long on an unclosed one.
 */
function valueTexts(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  let open = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const sign = text.charAt(at);
    if (isInString && sign === "\\") at += 1;
    else if (sign === '"') isInString = !isInString;
    if (isInString || !/[[\]{}]/.test(sign)) continue;
    open += /[[{]/.test(sign) ? 1 : -1;
    if (open !== 0) continue;
    parts.push(text.slice(start, at + 1));
    start = at + 1;
  }
  const rest = text.slice(start);
  return rest.trim() === "" ? parts : [...parts, rest];
}
