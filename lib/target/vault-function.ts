import type { LambdaClient } from "@aws-sdk/client-lambda";
import * as z from "zod";
import type { VaultAccess } from "../sealing/vault-request.ts";
import { callFunction } from "./invoke-function.ts";

const pairAnswer = z.object({ publicKey: z.base64(), sealedPrivateKey: z.base64() });
const opensAnswer = z.object({ opens: z.boolean() });
const sealedAnswer = z.object({ sealed: z.array(z.string().nullable()) });

const timeoutMs = 20_000;

/** The vault behind the function that sends webhooks. */
export function vaultBehind(lambda: LambdaClient, name: string): VaultAccess {
  const ask = async (request: object): Promise<unknown> => {
    const signal = AbortSignal.timeout(timeoutMs);
    return JSON.parse(await callFunction(lambda, { name, payload: JSON.stringify(request), signal }));
  };
  return {
    makePair: async () => {
      const { publicKey, sealedPrivateKey } = pairAnswer.parse(await ask({ ask: "pair" }));
      return {
        publicKey: Buffer.from(publicKey, "base64"),
        sealedPrivateKey: Buffer.from(sealedPrivateKey, "base64"),
      };
    },
    opens: async (key) => {
      const sealedPrivateKey = Buffer.from(key).toString("base64");
      return opensAnswer.parse(await ask({ ask: "opens", sealedPrivateKey })).opens;
    },
    sealAgain: async (request) => sealedAnswer.parse(await ask({ ask: "seal again", ...request })).sealed,
  };
}
