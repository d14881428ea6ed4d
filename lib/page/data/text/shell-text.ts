/** A text as one word of a shell. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

interface CurlCall {
  method: "GET" | "POST" | "PUT" | "DELETE";
  url: string;
  headers?: Readonly<Record<string, string>>;
  body?: string;
}

/** A call of the API for a shell. The token stays in its variable. */
export function curlText({ method, url, headers = {}, body }: CurlCall): string {
  const all = { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) };
  return [
    method === "GET" ? "curl" : `curl -X ${method}`,
    quoted(url),
    '-H "authorization: Bearer $CARILLON_TOKEN"',
    ...Object.entries(all).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${quoted(body)}`]),
  ].join(" ");
}
