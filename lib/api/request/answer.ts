import { Refusal } from "../../refusal.ts";

/** The answer of a route; the body is sent as JSON. */
export interface Answer {
  status: number;
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
  /** The units that the work needed, where they may be fewer than the request asked for. */
  units?: number;
}

/** The form that API Gateway turns into an HTTP response. */
export interface HttpResponse {
  statusCode: number;
  headers: Record<string, string>;
  body: string;
}

/**
 * An answer is for one caller and may be out of date within a second, so no cache may store it.
 * Browsers must take its type from the header and not guess it.
 */
const always = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

export function toHttp(
  { status, body, headers = {} }: Answer,
  contentType = "application/json",
): HttpResponse {
  if (body === undefined) return { statusCode: status, headers: { ...always, ...headers }, body: "" };
  const text = JSON.stringify(body);
  if (Buffer.byteLength(text) > answerBytesMax)
    throw new Refusal(
      "impossible",
      "The answer is larger than 5 MB and cannot be sent; request fewer items with `limit`.",
    );
  return { statusCode: status, headers: { ...always, "content-type": contentType, ...headers }, body: text };
}

/**
 * Lambda refuses answers over 6 MB, measured after JSON escapes the body a second time; the caller
 * would then get a 5xx for a request that succeeded.
 */
const answerBytesMax = 5_000_000;
