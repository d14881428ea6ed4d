import { outsideStrings, refuseInexactNumbers } from "../../command/exact-numbers.ts";
import { refuseDeep } from "../../command/json-depth.ts";
import { Refusal } from "../../refusal.ts";
import { Problem } from "./problem.ts";

export const bodyBytesMax = 5 * 1024 * 1024;

/** More than any payload of the size that is taken has. Each costs whoever checks it, and everything else waits meanwhile. */
export const bodyValuesMax = 200_000;

export interface RawBody {
  body?: string | undefined;
  isBase64Encoded: boolean;
  contentType: string | undefined;
  contentEncoding?: string | undefined;
}

/** The body as JSON; undefined where there is none. Says 413, 415 or 400 where it cannot be read exactly. */
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
    throw new Problem("media-type", `The body is sent in ${JSON.stringify(charset)}; JSON is sent in UTF-8.`);
  }
}

function requirePlain(contentEncoding: string | undefined): void {
  if (contentEncoding === undefined || /^\s*(identity)?\s*$/i.test(contentEncoding)) return;
  const encoding = JSON.stringify(contentEncoding.slice(0, 100));
  throw new Problem("media-type", `The body is sent in the encoding ${encoding}; send it as it is.`);
}

/** Before anything is made of them. A text too short for so many is not looked at. */
function refuseMany(text: string): void {
  if (text.length < 2 * bodyValuesMax) return;
  let values = 1;
  for (const stretch of outsideStrings(text)) {
    // What is empty holds none; else a bracket begins with one, and each comma adds one.
    for (const [found] of stretch.matchAll(/[[{]\s*[\]}]|[[{,]/g)) {
      if (found.length > 1) continue;
      values += 1;
      if (values > bodyValuesMax)
        throw new Problem(
          "too-large",
          `The body takes ${bodyValuesMax} values, those within others included, and has more.`,
        );
    }
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
