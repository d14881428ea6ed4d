import { outsideStrings, refuseInexactNumbers } from "../../command/exact-numbers.ts";
import { refuseDeep } from "../../command/json-depth.ts";
import { Refusal } from "../../refusal.ts";
import { Problem } from "./problem.ts";

export const bodyBytesMax = 5 * 1024 * 1024;

/**
 * More values than any payload of the allowed size needs. Checking each value takes time, and the
 * function serves nothing else meanwhile.
 */
export const bodyValuesMax = 200_000;

export interface RawBody {
  body?: string | undefined;
  isBase64Encoded: boolean;
  contentType: string | undefined;
  contentEncoding?: string | undefined;
}

/**
 * The body as JSON; undefined where there is none. Throws 413, 415 or 400 where the body cannot be
 * read exactly.
 */
export function readJsonBody(raw: RawBody): unknown {
  if (raw.body === undefined || raw.body === "") return undefined;
  requireJson(raw.contentType);
  requirePlain(raw.contentEncoding);
  const text = textOf(raw.body, raw.isBase64Encoded);
  refuseMany(text);
  refuseDeep(text);
  const value = parsed(text);
  refuseInexactNumbers(text);
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
    throw new Problem("media-type", `The body is sent in ${JSON.stringify(charset)}; send it in UTF-8.`);
  }
}

function requirePlain(contentEncoding: string | undefined): void {
  if (contentEncoding === undefined || /^\s*(identity)?\s*$/i.test(contentEncoding)) return;
  const encoding = JSON.stringify(contentEncoding.slice(0, 100));
  throw new Problem(
    "media-type",
    `The body is sent in the encoding ${encoding}; send it without a Content-Encoding.`,
  );
}

/**
 * Counts values before the body is parsed. A text too short for so large a count is not scanned.
 */
function refuseMany(text: string): void {
  if (text.length < 2 * bodyValuesMax) return;
  let values = 1;
  for (const stretch of outsideStrings(text)) {
    // An empty bracket adds no value; any other opening bracket adds its first, and each comma one
    // more.
    for (const [found] of stretch.matchAll(/[[{]\s*[\]}]|[[{,]/g)) {
      if (found.length > 1) continue;
      values += 1;
      if (values > bodyValuesMax)
        throw new Problem(
          "too-large",
          `The body has more than ${bodyValuesMax} values, nested values included.`,
        );
    }
  }
}

function textOf(body: string, isBase64Encoded: boolean): string {
  const bytes = isBase64Encoded ? Buffer.from(body, "base64") : Buffer.from(body);
  if (bytes.byteLength > bodyBytesMax) {
    throw new Problem(
      "too-large",
      `The body has ${bytes.byteLength} bytes; at most ${bodyBytesMax} are allowed.`,
    );
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
    // The engine's message quotes the body, and an answer must not repeat it.
    const position = error instanceof Error ? /position (\d+)/.exec(error.message)?.[1] : undefined;
    throw new Refusal(
      "invalid",
      `The body is not JSON${position === undefined ? "" : ` (at character ${position})`}.`,
    );
  }
}
