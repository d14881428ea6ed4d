import { refuseInexactNumbers } from "../command/exact-numbers.ts";
import { refuseDeep } from "../command/json-depth.ts";
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
