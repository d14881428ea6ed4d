import type { webcrypto } from "node:crypto";
import { Aes256Gcm, CipherSuite, DhkemP256HkdfSha256, HkdfSha256 } from "@hpke/core";

/**
 * HPKE (RFC 9180) with P-256: the curve of which KMS makes pairs of keys whose private half is
 * never in clear. The public key alone seals.
 */
const suite = new CipherSuite({
  kem: new DhkemP256HkdfSha256(),
  kdf: new HkdfSha256(),
  aead: new Aes256Gcm(),
});

const info = new TextEncoder().encode("carillon webhook credential 1");
/** An uncompressed point of the curve, which begins each sealed text. */
const encapsulatedBytes = 65;
const curve = { name: "ECDH", namedCurve: "P-256" };

/**
 * Encrypts a text for the holder of the private key. `context` is not stored: the text opens only
 * with the same context.
 */
export async function sealFor(publicKey: Uint8Array, text: string, context: string): Promise<string> {
  const recipientPublicKey = await crypto.subtle.importKey("spki", Buffer.from(publicKey), curve, true, []);
  const { enc, ct } = await suite.seal({ recipientPublicKey, info }, Buffer.from(text), Buffer.from(context));
  return Buffer.concat([Buffer.from(enc), Buffer.from(ct)]).toString("base64url");
}

/** Throws if the text was sealed for another key or context, or was changed. */
export async function openWith(
  privateKey: webcrypto.CryptoKey,
  sealed: string,
  context: string,
): Promise<string> {
  const bytes = Buffer.from(sealed, "base64url");
  const opened = await suite.open(
    { recipientKey: privateKey, enc: bytes.subarray(0, encapsulatedBytes), info },
    bytes.subarray(encapsulatedBytes),
    Buffer.from(context),
  );
  return Buffer.from(opened).toString();
}

export function importPrivateKey(pkcs8: Uint8Array): Promise<webcrypto.CryptoKey> {
  return crypto.subtle.importKey("pkcs8", Buffer.from(pkcs8), curve, true, ["deriveBits"]);
}

/** The public half of a private key, as SPKI. */
export async function publicHalf(privateKey: webcrypto.CryptoKey): Promise<Uint8Array> {
  const { d: _, ...point } = await crypto.subtle.exportKey("jwk", privateKey);
  const publicKey = await crypto.subtle.importKey("jwk", { ...point, key_ops: [] }, curve, true, []);
  return new Uint8Array(await crypto.subtle.exportKey("spki", publicKey));
}

export async function makePair(): Promise<{ publicKey: Uint8Array; privateKey: Uint8Array }> {
  const pair = await crypto.subtle.generateKey(curve, true, ["deriveBits"]);
  return {
    publicKey: new Uint8Array(await crypto.subtle.exportKey("spki", pair.publicKey)),
    privateKey: new Uint8Array(await crypto.subtle.exportKey("pkcs8", pair.privateKey)),
  };
}
