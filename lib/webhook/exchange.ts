import type { LookupAddress } from "node:dns";
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import type { LookupFunction, TcpNetConnectOpts } from "node:net";
import { InformationalOverflow } from "./failure.ts";
import type { WebhookUrl } from "./webhook-url.ts";

const headerMaxBytes = 16 * 1_024;
const bodyMaxBytes = 64 * 1_024;
/** If a host has several addresses, the next one is tried after this time without a connection. */
const connectMaxMs = 3_000;
/**
 * A receiver may announce its answer by answers of status 1xx, but not without end: Node reads them
 * as fast as they come, and other work of the process waits.
 */
const informationalMax = 10;

export interface Exchange {
  target: WebhookUrl;
  /** Checked addresses; the connection goes to no other. */
  addresses: readonly LookupAddress[];
  method: string;
  headers: Record<string, string>;
  body: Uint8Array;
  signal: AbortSignal;
}

export interface Response {
  status: number;
  retryAfter: string | undefined;
  /** The part of the body that was read. */
  body: Uint8Array;
}

/**
 * Sends one request over a new connection: a kept connection would lead to an address that was
 * checked for an earlier attempt. Rejects if no status came. A failure after the head of the
 * response does not change the status.
 */
export async function exchange({ target, addresses, body, ...rest }: Exchange): Promise<Response> {
  const lookup: LookupFunction = (_host, _options, found) => found(null, [...addresses]);
  const { protocol, pathname, search } = target.url;
  const options: https.RequestOptions &
    Pick<TcpNetConnectOpts, "autoSelectFamily" | "autoSelectFamilyAttemptTimeout"> = {
    ...rest,
    hostname: target.host,
    port: target.port,
    path: `${pathname}${search}`,
    agent: false,
    lookup,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: connectMaxMs,
    maxHeaderSize: headerMaxBytes,
    setHost: false,
    insecureHTTPParser: false,
  };
  const outgoing =
    protocol === "https:"
      ? https.request({
          ...options,
          servername: target.isAddress ? "" : target.host,
          // Set here so that no environment variable can turn it off.
          rejectUnauthorized: true,
        })
      : http.request(options);
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.on("response", resolve).on("error", reject);
      let informational = 0;
      outgoing.on("information", () => {
        informational += 1;
        if (informational > informationalMax) reject(new InformationalOverflow());
      });
      // If the receiver switches to another protocol, Node hands over the connection and does not
      // close it.
      outgoing.on("upgrade", (head, socket) => {
        socket.destroy();
        resolve(head);
      });
      outgoing.end(body);
    });
    return {
      status: response.statusCode ?? 0,
      retryAfter: response.headers["retry-after"],
      body: await beginningOf(response),
    };
  } finally {
    outgoing.destroy();
  }
}

async function beginningOf(response: IncomingMessage): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response) {
      if (!(chunk instanceof Uint8Array)) continue;
      chunks.push(chunk);
      bytes += chunk.byteLength;
      if (bytes >= bodyMaxBytes) break;
    }
  } catch {
    // Cut off or out of time: the status remains valid, and the excerpt shows the part that came.
  }
  return Buffer.concat(chunks).subarray(0, bodyMaxBytes);
}
