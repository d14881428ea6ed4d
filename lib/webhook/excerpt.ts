const excerptMaxBytes = 1_024;

/** Shorter values are words rather than secrets, and removing them would leave little to read. */
const secretLengthMin = 6;

/**
 * The beginning of a response for people to read: on one line, and without confidential values of
 * the request that the receiver repeats.
 */
export function excerptOf(response: Uint8Array, confidential: readonly string[]): string {
  const secrets = confidential
    .flatMap((value) => [value, ...value.split(/\s+/)])
    .filter((value) => value.length >= secretLengthMin)
    .flatMap(spellings)
    .sort((one, other) => other.length - one.length);
  const text = secrets.reduce(
    (shown, secret) => shown.replaceAll(secret, "***"),
    new TextDecoder().decode(response),
  );
  // Cc are control characters, Cf reverse or hide text, Z are all kinds of blanks.
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Z}]+/gu, " ").trim();
  const { read } = new TextEncoder().encodeInto(line, new Uint8Array(excerptMaxBytes));
  return line.slice(0, read);
}

/**
 * A receiver may repeat a value as JSON (of which there are several ways), as HTML or as part of a
 * URL.
 */
function spellings(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const inUrl = encodeURIComponent(secret);
  const html = secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const all = [
    secret,
    json,
    json.replaceAll("/", "\\/"),
    json.replaceAll(/[&<>]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`),
    html,
    html.replaceAll('"', "&quot;").replaceAll("'", "&#39;"),
    html.replaceAll('"', "&quot;").replaceAll("'", "&#039;"),
    inUrl,
    inUrl.replaceAll(/%[0-9A-F]{2}/g, (escaped) => escaped.toLowerCase()),
  ];
  return [...new Set(all)];
}
