import { Refusal } from "../refusal.ts";
import { Problem } from "./problem.ts";

export const bodyBytesMax = 5 * 1024 * 1024;

export interface RawBody {
  body?: string | undefined;
  isBase64Encoded: boolean;
  contentType: string | undefined;
}

/** The body as JSON; undefined where there is none. Says 413, 415 or 400 where it cannot be read exactly. */
export function readJsonBody(raw: RawBody): unknown {
  if (raw.body === undefined || raw.body === "") return undefined;
  requireJson(raw.contentType);
  const text = textOf(raw.body, raw.isBase64Encoded);
  const value = parsed(text);
  refuseLossyNumbers(text);
  return value;
}

function requireJson(contentType: string | undefined): void {
  if (contentType === undefined) return;
  const [type = "", ...parameters] = contentType.split(";").map((part) => part.trim().toLowerCase());
  if (!/^application\/([a-z0-9!#$&^_.+-]+\+)?json$/.test(type)) {
    throw new Problem(
      "media-type",
      `The body is sent as ${JSON.stringify(type)}; send JSON as application/json.`,
    );
  }
  const charset = parameters.find((parameter) => parameter.startsWith("charset="))?.slice("charset=".length);
  if (charset !== undefined && !/^"?utf-?8"?$/.test(charset)) {
    throw new Problem("media-type", `The body is sent in ${JSON.stringify(charset)}; JSON is sent in UTF-8.`);
  }
}

function textOf(body: string, isBase64Encoded: boolean): string {
  const bytes = isBase64Encoded ? Buffer.from(body, "base64") : Buffer.from(body);
  if (bytes.byteLength > bodyBytesMax) {
    throw new Problem("too-large", `The body takes ${bodyBytesMax} bytes, has ${bytes.byteLength}.`);
  }
  if (!isBase64Encoded) return body;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Refusal("invalid", "The body is not UTF-8.");
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The engine's own sentence quotes the body, which need not come back to anybody.
    const position = error instanceof Error ? /position (\d+)/.exec(error.message)?.[1] : undefined;
    throw new Refusal(
      "invalid",
      `The body is not JSON${position === undefined ? "" : ` (at character ${position})`}.`,
    );
  }
}

/** A long whole number would silently lose digits in JavaScript; ids of 64 bits are the usual victims. */
function refuseLossyNumbers(text: string): void {
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
function* outsideStrings(text: string): Generator<string> {
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
