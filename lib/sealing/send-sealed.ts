import { errorText } from "../log/error-text.ts";
import { type Sender, sendWebhook } from "../webhook/send-webhook.ts";
import type { WebhookAnswer, WebhookRequest } from "../webhook/webhook-request.ts";
import { NotOpened, type OpenedKeys, openCredentials } from "./open-credentials.ts";

/** Sends a webhook whose credentials are sealed. They are in clear from here to the receiver only. */
export async function sendSealedWebhook(
  { opened, ...sender }: Sender & { opened: OpenedKeys },
  request: WebhookRequest,
  remainingMs: number,
): Promise<WebhookAnswer> {
  let open: WebhookRequest;
  try {
    open = await openCredentials(opened, request);
  } catch (error) {
    if (!(error instanceof NotOpened)) throw error;
    sender.log.error("webhook.not-opened", { job: request.id, error: errorText(error) });
    return { kind: "failed", error: error.message };
  }
  return sendWebhook(sender, open, remainingMs);
}
