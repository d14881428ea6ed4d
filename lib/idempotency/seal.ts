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
const nonceBytes = 12;
const tagBytes = 16;

export function sealOf(secret: string, purpose = "carillon: what is kept of a request"): Seal {
  const key = createHmac("sha256", purpose).update(secret).digest();
  return {
    close: (bytes) => {
      const nonce = randomBytes(nonceBytes);
      const closing = createCipheriv(cipher, key, nonce);
      const body = Buffer.concat([closing.update(zstdCompressSync(bytes)), closing.final()]);
      return Buffer.concat([nonce, closing.getAuthTag(), body]);
    },
    open: (sealed) => {
      const opening = createDecipheriv(cipher, key, sealed.subarray(0, nonceBytes));
      opening.setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
      try {
        return zstdDecompressSync(
          Buffer.concat([opening.update(sealed.subarray(nonceBytes + tagBytes)), opening.final()]),
        );
      } catch {
        return null;
      }
    },
  };
}
