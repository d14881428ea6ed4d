import type { Sql } from "../../db/connect.ts";
import { Refusal } from "../../refusal.ts";
import type { Caller } from "../../schedule/shape/caller.ts";
import { type CredentialKey, listCredentialKeys, makeCredentialKey } from "../../sealing/credential-keys.ts";
import { type PassPlace, type PassStep, sealSomeAgain } from "../../sealing/seal-again.ts";
import type { VaultAccess } from "../../sealing/vault-request.ts";

/** The operations on the keys that seal credentials of webhooks. */
export interface CredentialOperations {
  /** The newest first. */
  list(): Promise<CredentialKey[]>;
  make(caller: Caller): Promise<CredentialKey>;
  sealAgain(from: PassPlace | null): Promise<PassStep>;
}

export function credentialOperations(sql: Sql, vault: VaultAccess | null): CredentialOperations {
  const known = () => {
    if (vault !== null) return vault;
    throw new Refusal("impossible", "This deployment sends no webhooks, so it has no vault for their keys.");
  };
  return {
    list: () => listCredentialKeys(sql),
    make: (caller) => makeCredentialKey(sql, known(), caller),
    sealAgain: (from) => sealSomeAgain(sql, known(), from),
  };
}
