import { Refusal } from "../../refusal.ts";

/** What a route answers with; a body is sent as JSON. */
export interface Answer {
  status: number;
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
}

/** What API Gateway makes the HTTP response from. */
export interface HttpResponse {
  statusCode: number;
  headers: Record<string, string>;
  body: string;
}

/** Answers change from second to second and are only for who asked, so nothing between may keep or guess at them. */
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
      "The answer is larger than 5 MB, and would not be sent; ask for fewer with `limit`.",
    );
  return { statusCode: status, headers: { ...always, "content-type": contentType, ...headers }, body: text };
}

/** Lambda gives up at 6 MB, escaped as JSON once more, and the caller would read of a failure that is none. */
const answerBytesMax = 5_000_000;
