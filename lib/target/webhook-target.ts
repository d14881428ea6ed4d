import type { AlarmClock } from "../clock.ts";
import { type ClaimedJob, receiversId } from "../parcel/claimed-job.ts";
import { readSealed } from "../schedule/shape/sealed-text.ts";
import type { WebhookTarget } from "../schedule/shape/target-webhook-shape.ts";
import { valuesOf } from "../schedule/shape/webhook-credentials.ts";
import { retryAfterMaxMs } from "../webhook/retry-after.ts";
import type { WebhookAnswer, WebhookRequest } from "../webhook/webhook-request.ts";
import { eachAttempt, settleMs, timeoutMsOf } from "./attempts.ts";
import { type Delivery, type DeliveryContext, done, failed } from "./delivery.ts";
import { envelope } from "./envelope.ts";

/**
 * Sends one webhook and returns the receiver's answer. Rejects if the sender itself failed, or the
 * signal aborted.
 */
export type SendWebhook = (request: WebhookRequest, signal: AbortSignal) => Promise<WebhookAnswer>;

export interface WebhookTargetDeps {
  sendWebhook: SendWebhook;
  /** The private keys, themselves sealed, that open the sealed credentials of a webhook, by their ids. */
  sealedKeys: (ids: readonly number[]) => Promise<Record<string, string>>;
  clock: AlarmClock;
}

type WebhookJob = ClaimedJob & { target: WebhookTarget };

/** Sends jobs to the URLs that their targets name. */
export function webhookTarget({
  sendWebhook,
  sealedKeys,
  clock,
}: WebhookTargetDeps): (jobs: readonly WebhookJob[], context: DeliveryContext) => Promise<Delivery[]> {
  return (jobs, context) =>
    eachAttempt(jobs, context, clock, async (job, stop) => {
      const { url, method, headers, secret = [] } = job.target.webhook;
      const body = envelope(job, clock.now());
      const timeoutMs = sendingMs(Math.min(timeoutMsOf(job.timeout), context.timeLeftMs() - settleMs));
      const ids = keyIdsOf(job.target.webhook);
      const keys = ids.length === 0 ? {} : { keys: await sealedKeys(ids) };
      const request = {
        id: receiversId(job),
        url,
        method,
        headers,
        body,
        secrets: secret,
        timeoutMs,
        ...keys,
      };
      return deliveryOf(await sendWebhook(request, stop.signal), clock.now());
    });
}

function keyIdsOf(webhook: WebhookTarget["webhook"]): number[] {
  const ids = valuesOf(webhook).flatMap(({ value }) => readSealed(value)?.keyId ?? []);
  return [...new Set(ids)];
}

const answerMaxMs = 500;

/**
 * The sender stops a little before the attempt does, so that it does not overlap with the next
 * attempt, and its answer arrives in time. A receiver that answered 200 and is still sending its
 * body has answered 200.
 */
function sendingMs(attemptMs: number): number {
  return Math.max(1, Math.floor(attemptMs - Math.min(answerMaxMs, attemptMs / 10)));
}

const gone = 410;

function deliveryOf(answer: WebhookAnswer, now: Date): Delivery {
  if (answer.kind !== "answered") return failed(answer.error);
  const { status, retryAfterMs, excerpt } = answer;
  if (status >= 200 && status < 300) return done;
  if (status === gone) return { ...failed(said(answer), true), hold: "The receiver answered 410 Gone." };
  if (status >= 300 && status < 400)
    return failed(
      `The receiver answered ${status}: redirects are not followed. Use the URL that it redirects to.`,
    );
  // A wait of zero is no backoff: the schedule's own backoff is better for both sides.
  const retryAt = retryAfterMs === null || retryAfterMs <= 0 ? {} : { retryAt: afterMs(now, retryAfterMs) };
  return { ...failed(said({ status, excerpt })), ...retryAt };
}

function said({ status, excerpt }: { status: number; excerpt: string }): string {
  return `The receiver answered ${status}${excerpt === "" ? "." : `: ${excerpt}`}`;
}

// Bounded here too: the answer may come from the function that sends webhooks.
function afterMs(now: Date, ms: number): Date {
  return new Date(now.getTime() + Math.min(ms, retryAfterMaxMs));
}
