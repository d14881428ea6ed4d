import { createHmac } from "node:crypto";
import { decrypted, encrypted, nonceBytes } from "../idempotency/seal.ts";

/** Cursors have lengths in such steps: the length would tell that of a name of another team. */
const lengthStep = 64;
const endOfText = 0x80;

/**
 * Encrypts a cursor for the callers of one prefix. It may name the last row that was looked at, which
 * may be of another team, and a cursor made up by a caller would ask for the row after any name. One
 * place has one cursor: the nonce is a code of what it encrypts.
 */
export function sealCursor(key: Buffer, prefix: string | null, cursor: string): string {
  const own = keyOf(key, prefix);
  const plain = padded(Buffer.from(cursor, "base64url"));
  const nonce = createHmac("sha256", own).update(plain).digest().subarray(0, nonceBytes);
  return encrypted(own, nonce, plain).toString("base64url");
}

/** Null if the text is no cursor that callers of this prefix were given. */
export function openCursor(key: Buffer, prefix: string | null, sealed: string): string | null {
  const bytes = Buffer.from(sealed, "base64url");
  if (bytes.toString("base64url") !== sealed) return null;
  try {
    const plain = decrypted(keyOf(key, prefix), bytes);
    return plain.subarray(0, plain.lastIndexOf(endOfText)).toString("base64url");
  } catch {
    return null;
  }
}

/** The text of a cursor is JSON, which does not end with either of the added bytes. */
function padded(text: Buffer): Buffer {
  const length = Math.ceil((text.length + 1) / lengthStep) * lengthStep;
  return Buffer.concat([text, Buffer.from([endOfText]), Buffer.alloc(length - text.length - 1)]);
}

/** A key for the callers of each prefix; null for those of all keys. */
function keyOf(key: Buffer, prefix: string | null): Buffer {
  return createHmac("sha256", key).update(JSON.stringify(prefix)).digest();
}
