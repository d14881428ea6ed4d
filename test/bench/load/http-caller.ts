import { Agent, request } from "node:http";

export interface Answered {
  status: number;
  body: string;
}

/**
 * Calls an API over kept-alive connections. The client is a plain one, so that the measurement is
 * of the API.
 */
export interface HttpCaller {
  call(method: string, path: string, body?: unknown): Promise<Answered>;
  close(): void;
}

const patienceMs = 30_000;

export function httpCaller(base: string, token: string, connections = 32): HttpCaller {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  return {
    call: (method, path, body) =>
      new Promise((resolve, reject) => {
        const text = body === undefined ? undefined : JSON.stringify(body);
        const outgoing = request(
          new URL(path, base),
          {
            method,
            agent,
            timeout: patienceMs,
            headers: {
              authorization: `Bearer ${token}`,
              ...(text === undefined
                ? {}
                : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
            },
          },
          (answer) => {
            let received = "";
            answer.setEncoding("utf8").on("data", (part: string) => {
              received += part;
            });
            answer.on("end", () => resolve({ status: answer.statusCode ?? 0, body: received }));
            answer.on("error", reject);
          },
        );
        outgoing.on("timeout", () =>
          outgoing.destroy(new Error(`No answer within ${patienceMs / 1_000} s.`)),
        );
        outgoing.on("error", reject);
        outgoing.end(text);
      }),
    close: () => agent.destroy(),
  };
}
