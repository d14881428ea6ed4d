import { reachFrom } from "../../lib/webhook/reach.ts";
import type { Resolve } from "../../lib/webhook/resolve.ts";
import { sendWebhook } from "../../lib/webhook/send-webhook.ts";
import type { WebhookAnswer, WebhookRequest } from "../../lib/webhook/webhook-request.ts";
import { manualClock } from "../support/manual-clock.ts";
import { recordedLog } from "../support/recorded-log.ts";

export const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/** Sends with a stopped clock, to allowed hosts, with the test's own DNS. */
export function sender({ allow = "", resolve }: { allow?: string; resolve?: Resolve } = {}) {
  const clock = manualClock("2026-11-06T08:49:37Z");
  const log = recordedLog();
  const asked: string[] = [];
  const parts = {
    clock,
    log,
    reach: reachFrom({ CARILLON_WEBHOOK_ALLOW: allow }),
    resolve: async (name: string, signal: AbortSignal) => {
      asked.push(name);
      return (await resolve?.(name, signal)) ?? [];
    },
  };
  const send = (url: string, more: Partial<WebhookRequest> = {}, remainingMs = 60_000) =>
    sendWebhook(parts, { ...usual, url, ...more }, remainingMs);
  return { send, clock, log, asked };
}

export const usual: Omit<WebhookRequest, "url"> = {
  id: "7-1794-c0",
  method: "POST",
  headers: { authorization: "Bearer hidden-token" },
  body: '{"data":"hidden-body"}',
  secrets: [secret],
  timeoutMs: 5_000,
};

/** Sends to a server of the test on this port, which need not speak HTTP. */
export function toRaw(port: number, protocol = "http"): Promise<WebhookAnswer> {
  const { send } = sender({ allow: `localhost:${port}`, resolve: async () => ["127.0.0.1", "::1"] });
  return send(`${protocol}://localhost:${port}/?key=hidden-key`);
}
