import packageJson from "../../package.json" with { type: "json" };
import { signatures } from "./signature.ts";
import type { WebhookRequest } from "./webhook-request.ts";

/** Headers about the connection and the sender, which a caller may not set. */
const reserved = new Set([
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "user-agent",
]);

/**
 * Whether Carillon itself sets this header, so that a target's header of the same name is not sent.
 */
export function isReservedHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return reserved.has(lower) || lower.startsWith("webhook-");
}

/**
 * All headers of one attempt. `content-type` is only a default: many receivers parse nothing but
 * `application/json`.
 */
export function webhookHeaders(
  { id, headers, secrets }: WebhookRequest,
  { host, now, body }: { host: string; now: Date; body: Uint8Array },
): Record<string, string> {
  const timestamp = Math.floor(now.getTime() / 1_000);
  const given = Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => !isReservedHeader(name));
  return {
    "content-type": "application/cloudevents+json",
    ...Object.fromEntries(given),
    host,
    "content-length": String(body.byteLength),
    "accept-encoding": "identity",
    "user-agent": `Carillon/${packageJson.version}`,
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    ...(secrets.length > 0 && { "webhook-signature": signatures(secrets, { id, timestamp, body }) }),
  };
}
