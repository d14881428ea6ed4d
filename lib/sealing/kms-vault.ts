import {
  DecryptCommand,
  GenerateDataKeyPairWithoutPlaintextCommand,
  type KMSClient,
} from "@aws-sdk/client-kms";
import { importPrivateKey } from "./hpke.ts";
import type { KeyVault } from "./key-vault.ts";

/** KMS opens nothing that was made with another context, and logs it in CloudTrail. */
const EncryptionContext = { carillon: "webhook credentials" };

/** A vault whose key is a symmetric key of KMS. KMS makes each pair, and never tells the key itself. */
export function kmsVault(kms: KMSClient, keyId: string): KeyVault {
  return {
    makePair: async () => {
      const made = await kms.send(
        new GenerateDataKeyPairWithoutPlaintextCommand({
          KeyId: keyId,
          KeyPairSpec: "ECC_NIST_P256",
          EncryptionContext,
        }),
      );
      const { PublicKey: publicKey, PrivateKeyCiphertextBlob: sealedPrivateKey } = made;
      if (publicKey === undefined || sealedPrivateKey === undefined)
        throw new Error(`KMS made no pair of keys with ${keyId}.`);
      return { publicKey, sealedPrivateKey };
    },
    opens: async (sealedPrivateKey) => {
      try {
        await decrypted(kms, sealedPrivateKey);
        return true;
      } catch (error) {
        if (error instanceof Error && ofAnotherKey.has(error.name)) return false;
        throw error;
      }
    },
    open: async (sealedPrivateKey) => importPrivateKey(await decrypted(kms, sealedPrivateKey)),
  };
}

/** Errors of KMS for a key that is deleted, or belongs to another account or region. */
const ofAnotherKey = new Set([
  "AccessDeniedException",
  "InvalidCiphertextException",
  "IncorrectKeyException",
  "KMSInvalidStateException",
  "NotFoundException",
]);

async function decrypted(kms: KMSClient, sealedPrivateKey: Uint8Array): Promise<Uint8Array> {
  const { Plaintext } = await kms.send(
    new DecryptCommand({ CiphertextBlob: sealedPrivateKey, EncryptionContext }),
  );
  if (Plaintext === undefined) throw new Error("KMS returned no private key.");
  return Plaintext;
}
