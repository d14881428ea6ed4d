import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";

/**
 * Compresses and encrypts the kept data of a request, so that only a holder of the caller's token
 * can read it. Answers hold payloads, and the answer of `POST /v1/tokens` holds a token of which
 * only a hash is stored elsewhere. A repeated request presents the same token.
 */
export interface Seal {
  close(bytes: Buffer): Buffer;
  /** Null if the data was encrypted with another key. */
  open(sealed: Buffer): Buffer | null;
}

const cipher = "aes-256-gcm";
export const nonceBytes = 12;
const tagBytes = 16;

export function sealOf(secret: string, purpose = "carillon: what is kept of a request"): Seal {
  const key = createHmac("sha256", purpose).update(secret).digest();
  return {
    close: (bytes) => encrypted(key, randomBytes(nonceBytes), zstdCompressSync(bytes)),
    open: (sealed) => {
      try {
        return zstdDecompressSync(decrypted(key, sealed));
      } catch {
        return null;
      }
    },
  };
}

/** The nonce, which must be another one for each text of a key, the tag and the ciphertext. */
export function encrypted(key: Buffer, nonce: Buffer, plain: Buffer): Buffer {
  const closing = createCipheriv(cipher, key, nonce, { authTagLength: tagBytes });
  const body = Buffer.concat([closing.update(plain), closing.final()]);
  return Buffer.concat([nonce, closing.getAuthTag(), body]);
}

/** Throws if the bytes were encrypted with another key, or changed. */
export function decrypted(key: Buffer, sealed: Buffer): Buffer {
  const [nonce, tag] = [sealed.subarray(0, nonceBytes), sealed.subarray(nonceBytes, nonceBytes + tagBytes)];
  const opening = createDecipheriv(cipher, key, nonce, { authTagLength: tagBytes });
  opening.setAuthTag(tag);
  return Buffer.concat([opening.update(sealed.subarray(nonceBytes + tagBytes)), opening.final()]);
}
