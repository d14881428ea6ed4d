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
  return {
    statusCode: status,
    headers: { ...always, "content-type": contentType, ...headers },
    body: JSON.stringify(body),
  };
}
