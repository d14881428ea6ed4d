import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";
import type { Clock } from "../clock.ts";
import type { Log } from "../log/log.ts";
import { excerptOf } from "./excerpt.ts";
import { exchange } from "./exchange.ts";
import { failure } from "./failure.ts";
import { forbids } from "./public-address.ts";
import { type Reach, withAdvice } from "./reach.ts";
import type { Resolve } from "./resolve.ts";
import { retryAfterMs } from "./retry-after.ts";
import { webhookHeaders } from "./webhook-headers.ts";
import type { WebhookAnswer, WebhookRequest } from "./webhook-request.ts";
import { readWebhookUrl, type WebhookUrl } from "./webhook-url.ts";

export interface Sender {
  reach: Reach;
  resolve: Resolve;
  clock: Clock;
  log: Log;
}

/** The part of the invocation's time that is reserved for returning the answer. */
const reserveMs = 500;

/**
 * Sends once, within the request's own timeout and `remainingMs`, the time left in the invocation.
 */
export async function sendWebhook(
  sender: Sender,
  request: WebhookRequest,
  remainingMs: number,
): Promise<WebhookAnswer> {
  const { clock, log } = sender;
  const read = readWebhookUrl(request.url, sender.reach);
  if (!read.ok) {
    log.warn("webhook.refused", { job: request.id, error: read.error });
    return { kind: "refused", error: read.error };
  }
  const { host } = read.target.url;
  const startedAt = clock.now().getTime();
  const answer = await withinTime(
    clock,
    Math.min(request.timeoutMs, remainingMs - reserveMs),
    (signal) => attempt(sender, request, read.target, signal),
    host,
  );
  const seen = { job: request.id, host, ms: clock.now().getTime() - startedAt };
  if (answer.kind === "answered") log.info("webhook.answered", { ...seen, status: answer.status });
  else log.warn(`webhook.${answer.kind}`, { ...seen, error: answer.error });
  return answer;
}

/** The limit includes the DNS lookup and the last byte of the answer. */
async function withinTime(
  clock: Clock,
  boundMs: number,
  send: (signal: AbortSignal) => Promise<WebhookAnswer>,
  host: string,
): Promise<WebhookAnswer> {
  const failed = (error: string): WebhookAnswer => ({ kind: "failed", error });
  if (boundMs <= 0) return failed(`There was no time left to send to ${host}.`);
  const over = new AbortController();
  const done = new AbortController();
  const timer = clock.sleep(boundMs, done.signal).then(() => over.abort());
  try {
    return await send(over.signal);
  } catch (error) {
    return failed(
      over.signal.aborted ? `${host} did not answer within ${boundMs / 1_000} s.` : failure(host, error),
    );
  } finally {
    done.abort();
    await timer;
  }
}

async function attempt(
  { resolve, reach, clock }: Sender,
  request: WebhookRequest,
  target: WebhookUrl,
  signal: AbortSignal,
): Promise<WebhookAnswer> {
  const found = target.isAddress ? [target.host] : await unlessAborted(resolve(target.host, signal), signal);
  if (found.length === 0) return { kind: "failed", error: `${target.host} has no address in DNS.` };
  if (!target.allowed) {
    // One forbidden address is enough to refuse the host, since the connection may go to any of its
    // addresses.
    for (const address of found) {
      const reason = forbids(address, reach.denied);
      if (reason === null) continue;
      const error = `${target.host} points to ${address}, which is ${reason}: webhooks go only to public addresses.`;
      return { kind: "refused", error: withAdvice(error, `${target.url.hostname}:${target.port}`, reach) };
    }
  }
  const body = Buffer.from(request.body);
  const {
    status,
    retryAfter,
    body: response,
  } = await exchange({
    target,
    addresses: inOrder(found),
    method: request.method,
    headers: webhookHeaders(request, { host: target.url.host, now: clock.now(), body }),
    body,
    signal,
  });
  const succeeded = status >= 200 && status < 300;
  return {
    kind: "answered",
    status,
    retryAfterMs: succeeded ? null : retryAfterMs(retryAfter, clock.now()),
    excerpt: excerptOf(response, confidentialOf(request, target.url)),
  };
}

/** IPv4 first: outside of a VPC, Lambda has no way out by IPv6. */
function inOrder(addresses: readonly string[]): LookupAddress[] {
  return addresses
    .map((address) => ({ address, family: isIP(address) }))
    .sort((one, other) => one.family - other.family);
}

function confidentialOf({ headers, secrets }: WebhookRequest, url: URL): string[] {
  return [...Object.values(headers), ...secrets, url.search.slice(1), ...url.searchParams.values()];
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}
