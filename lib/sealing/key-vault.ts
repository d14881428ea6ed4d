import type { webcrypto } from "node:crypto";
import { sealOf } from "../idempotency/seal.ts";
import { importPrivateKey, makePair } from "./hpke.ts";

/** A pair of keys as it may be stored: the private one only opens in the vault that made it. */
export interface VaultPair {
  /** As SPKI. */
  publicKey: Uint8Array;
  sealedPrivateKey: Uint8Array;
}

/**
 * Keeps the key that protects private keys. In AWS it is a key of KMS, which only the function that
 * sends webhooks may use.
 */
export interface KeyVault {
  makePair(): Promise<VaultPair>;
  /** Whether this vault made the pair. Rejects if the vault does not answer. */
  opens(sealedPrivateKey: Uint8Array): Promise<boolean>;
  /** Rejects if another vault made the pair, or the vault does not answer. */
  open(sealedPrivateKey: Uint8Array): Promise<webcrypto.CryptoKey>;
}

/** A vault without KMS, whose key is derived from a secret: for the local stack and for tests. */
export function secretVault(secret: string): KeyVault {
  const seal = sealOf(secret, "carillon: private keys of webhook credentials");
  return {
    makePair: async () => {
      const { publicKey, privateKey } = await makePair();
      return { publicKey, sealedPrivateKey: seal.close(Buffer.from(privateKey)) };
    },
    opens: async (sealedPrivateKey) => seal.open(Buffer.from(sealedPrivateKey)) !== null,
    open: async (sealedPrivateKey) => {
      const privateKey = seal.open(Buffer.from(sealedPrivateKey));
      if (privateKey === null)
        throw new Error("the key that it was sealed with was made by another key file");
      return importPrivateKey(privateKey);
    },
  };
}
