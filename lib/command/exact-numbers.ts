import { Refusal } from "../refusal.ts";

/**
 * Refuses whole numbers that would silently lose digits in JavaScript; the usual case is an id of
 * 64 bits.
 */
export function refuseInexactNumbers(text: string): void {
  if (!/\d{16}/.test(text)) return;
  for (const stretch of outsideStrings(text)) {
    for (const [number] of stretch.matchAll(/(?<![\d.eE+])-?\d{16,}(?![\d.eE])/g)) {
      if (isExact(number)) continue;
      const shown = number.length <= 40 ? number : `${number.slice(0, 40)}…`;
      throw new Refusal("invalid", `The number ${shown} cannot be kept exactly; send it as a string.`);
    }
  }
}

/** The stretches of a JSON text between its strings. */
export function* outsideStrings(text: string): Generator<string> {
  let at = 0;
  while (at < text.length) {
    const opening = text.indexOf('"', at);
    if (opening === -1) break;
    yield text.slice(at, opening);
    at = closingQuote(text, opening) + 1;
  }
  yield text.slice(at);
}

function closingQuote(text: string, opening: number): number {
  for (let at = text.indexOf('"', opening + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text[at - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
  return text.length;
}

function isExact(wholeNumber: string): boolean {
  const number = Number(wholeNumber);
  if (!Number.isFinite(number)) return false;
  return String(number) === wholeNumber || BigInt(number) === BigInt(wholeNumber);
}
