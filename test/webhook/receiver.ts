import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { onTestFinished } from "vitest";

export interface Received {
  method: string | undefined;
  path: string | undefined;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Receiver {
  host: string;
  url: string;
  received: Received[];
}

/**
 * A real server with the given answer, and the requests that it received. It lasts as long as its
 * test.
 */
export async function receiver(answer: (response: ServerResponse) => void): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    received.push({ method: request.method, path: request.url, headers: request.headers, body });
    answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const listening = server.address();
  if (listening === null || typeof listening === "string") throw new Error("The server has no port.");
  const host = `127.0.0.1:${listening.port}`;
  return { host, url: `http://${host}/hook?key=hidden-key`, received };
}
