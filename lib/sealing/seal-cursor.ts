import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";

const cipher = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypts a cursor for the callers of one prefix. It may name the last row that was looked at, which
 * may be of another team, and a cursor made up by a caller would ask for the row after any name. One
 * place has one cursor: the nonce is a code of what it encrypts.
 */
export function sealCursor(key: Buffer, prefix: string | null, cursor: string): string {
  const plain = Buffer.from(cursor, "base64url");
  const nonce = createHmac("sha256", key)
    .update(callersOf(prefix))
    .update(plain)
    .digest()
    .subarray(0, nonceBytes);
  const closing = createCipheriv(cipher, key, nonce, { authTagLength: tagBytes }).setAAD(callersOf(prefix));
  const body = Buffer.concat([closing.update(plain), closing.final()]);
  return Buffer.concat([nonce, closing.getAuthTag(), body]).toString("base64url");
}

/** Null if the text is no cursor that callers of this prefix were given. */
export function openCursor(key: Buffer, prefix: string | null, sealed: string): string | null {
  const bytes = Buffer.from(sealed, "base64url");
  if (bytes.length < nonceBytes + tagBytes || bytes.toString("base64url") !== sealed) return null;
  const nonce = bytes.subarray(0, nonceBytes);
  const opening = createDecipheriv(cipher, key, nonce, { authTagLength: tagBytes })
    .setAAD(callersOf(prefix))
    .setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
  try {
    const body = bytes.subarray(nonceBytes + tagBytes);
    return Buffer.concat([opening.update(body), opening.final()]).toString("base64url");
  } catch {
    return null;
  }
}

/** The digest has one length, so that no prefix and cursor together are another prefix and cursor. */
function callersOf(prefix: string | null): Buffer {
  return createHmac("sha256", "carillon: callers of a cursor").update(JSON.stringify(prefix)).digest();
}
