import type { LookupAddress } from "node:dns";
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import type { LookupFunction, TcpNetConnectOpts } from "node:net";
import type { WebhookUrl } from "./webhook-url.ts";

const headerMaxBytes = 16 * 1_024;
const bodyMaxBytes = 64 * 1_024;
/** A host with several addresses is tried at the next one when one has not taken the connection by then. */
const connectMaxMs = 3_000;

export interface Exchange {
  target: WebhookUrl;
  /** Checked; the connection goes to one of these and to nothing else. */
  addresses: readonly LookupAddress[];
  method: string;
  headers: Record<string, string>;
  body: Uint8Array;
  signal: AbortSignal;
}

export interface Response {
  status: number;
  retryAfter: string | undefined;
  /** As much as was read of it. */
  body: Uint8Array;
}

/**
 * One request over a connection of its own: one that was kept would lead to an address checked for an earlier attempt. Rejects
 * when no status came; what becomes of the response behind its head changes nothing about what was answered.
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
          // Said here so that no variable of the environment can turn it off.
          rejectUnauthorized: true,
        })
      : http.request(options);
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.on("response", resolve).on("error", reject);
      // Node hands over the connection of such an answer, and closes it no more.
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
    // Cut off or out of time: the status stands, and the excerpt shows what came.
  }
  return Buffer.concat(chunks).subarray(0, bodyMaxBytes);
}
