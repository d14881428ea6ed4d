import { systemClock } from "../lib/clock.ts";
import type { Environment } from "../lib/config/environment.ts";
import { type Assembled, onDemand } from "../lib/config/function.ts";
import { logFrom } from "../lib/config/log-from.ts";
import { reachFrom } from "../lib/webhook/reach.ts";
import { resolver } from "../lib/webhook/resolve.ts";
import { sendWebhook } from "../lib/webhook/send-webhook.ts";
import { type WebhookAnswer, type WebhookRequest, webhookRequest } from "../lib/webhook/webhook-request.ts";

/**
 * Sends one webhook and returns the target's answer. The function has no database, no access to the
 * private network and no rights; it knows only its request.
 */
export function assemble(env: Environment): Assembled<WebhookRequest, WebhookAnswer> {
  const reach = reachFrom(env);
  const sender = {
    reach,
    resolve: resolver(reach),
    clock: systemClock,
    log: logFrom(env, "webhook"),
  };
  return {
    handler: (event, invocation) =>
      sendWebhook(sender, webhookRequest.parse(event), invocation.getRemainingTimeInMillis()),
    close: async () => {},
  };
}

export const handler = onDemand(assemble);
