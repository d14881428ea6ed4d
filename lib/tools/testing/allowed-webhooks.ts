import { systemClock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import type { Reach } from "../../webhook/reach.ts";
import { resolver } from "../../webhook/resolve.ts";
import { sendWebhook } from "../../webhook/send-webhook.ts";
import type { WebhookAnswer, WebhookRequest } from "../../webhook/webhook-request.ts";
import { readWebhookUrl } from "../../webhook/webhook-url.ts";
import type { Activity } from "./activity.ts";

/**
 * Sends webhooks to allowed private addresses, and answers undefined for all others. The request
 * passes in real time, while the test's clock stands; its signature has the real time, so that a
 * receiver that checks it accepts it.
 */
export function allowedWebhooks(
  reach: Reach,
  activity: Activity,
  log: Log,
): (request: WebhookRequest) => Promise<WebhookAnswer> | undefined {
  const sender = { reach, resolve: resolver(reach), clock: systemClock, log };
  return (request) => {
    const read = readWebhookUrl(request.url, reach);
    if (!(read.ok && read.target.allowed)) return undefined;
    return activity.during(() => sendWebhook(sender, request, Number.POSITIVE_INFINITY));
  };
}
