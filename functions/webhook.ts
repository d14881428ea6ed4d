import { KMSClient } from "@aws-sdk/client-kms";
import { systemClock } from "../lib/clock.ts";
import { awsClientSettings, sendingTimeouts } from "../lib/config/aws.ts";
import { type Environment, required } from "../lib/config/environment.ts";
import { type Assembled, onDemand } from "../lib/config/function.ts";
import { logFrom } from "../lib/config/log-from.ts";
import type { KeyVault } from "../lib/sealing/key-vault.ts";
import { kmsVault } from "../lib/sealing/kms-vault.ts";
import { OpenedKeys } from "../lib/sealing/open-credentials.ts";
import { sendSealedWebhook } from "../lib/sealing/send-sealed.ts";
import {
  answerVaultRequest,
  type VaultAnswer,
  vaultRequest,
  type WebhookEvent,
} from "../lib/sealing/vault-request.ts";
import { reachFrom } from "../lib/webhook/reach.ts";
import { resolver } from "../lib/webhook/resolve.ts";
import { type WebhookAnswer, webhookRequest } from "../lib/webhook/webhook-request.ts";

/**
 * Sends one webhook and returns the target's answer. The function has no database, no access to the
 * private network and one right: to use the key of KMS that opens the credentials of webhooks. It
 * knows only its request.
 */
export function assemble(
  env: Environment,
  { vault = vaultFrom(env) }: { vault?: KeyVault } = {},
): Assembled<WebhookEvent, WebhookAnswer | VaultAnswer> {
  const reach = reachFrom(env);
  const opened = new OpenedKeys(vault);
  const sender = {
    reach,
    resolve: resolver(reach),
    clock: systemClock,
    log: logFrom(env, "webhook"),
  };
  return {
    handler: (event, invocation) =>
      "ask" in event
        ? answerVaultRequest(vault, opened, vaultRequest.parse(event))
        : sendSealedWebhook(
            { ...sender, opened },
            webhookRequest.parse(event),
            invocation.getRemainingTimeInMillis(),
          ),
    close: async () => {},
  };
}

/** The client is made when a credential is to be opened: most functions never open one. */
function vaultFrom(env: Environment): KeyVault {
  let vault: KeyVault | undefined;
  const made = () => {
    vault ??= kmsVault(
      new KMSClient(awsClientSettings(env, "KMS", sendingTimeouts)),
      required(env, "WEBHOOK_KEY"),
    );
    return vault;
  };
  return {
    makePair: () => made().makePair(),
    opens: (key) => made().opens(key),
    open: (key) => made().open(key),
  };
}

export const handler = onDemand((env) => assemble(env));
