/**
 * The allowed form of an origin, as browsers send it: scheme, host and perhaps a port, in lower
 * case and without a slash.
 */
export const originForm =
  "it takes origins such as https://app.example.com, or http://localhost and a port, and neither * nor a path";

/** `null` is no origin: every page without an origin sends it. */
export function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.origin !== text || text.includes("*")) return false;
  return url.protocol === "https:" || (url.protocol === "http:" && isHere(url.hostname));
}

function isHere(host: string): boolean {
  return host === "localhost" || host === "127.0.0.1" || host === "[::1]";
}
