import { secretVault } from "../../lib/sealing/key-vault.ts";
import { OpenedKeys } from "../../lib/sealing/open-credentials.ts";
import type { VaultAccess } from "../../lib/sealing/vault-request.ts";
import { answerVaultRequest } from "../../lib/sealing/vault-request.ts";

/** The vault of the key that each migrated test database has. */
export const testVault = secretVault("the tests");

const opened = new OpenedKeys(testVault);

/** The vault as the API asks it, without the function between them. */
export const testVaultAccess: VaultAccess = {
  makePair: () => testVault.makePair(),
  opens: (sealedPrivateKey) => testVault.opens(sealedPrivateKey),
  sealAgain: async (request) => {
    const answer = await answerVaultRequest(testVault, opened, { ask: "seal again", ...request });
    if (!("sealed" in answer)) throw new Error("The vault sealed nothing again.");
    return answer.sealed;
  },
};
