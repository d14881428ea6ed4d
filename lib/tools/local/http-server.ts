import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

/** A port that another program listens on. */
export class PortTaken extends Error {
  override readonly name = "PortTaken";
  readonly port: number;

  constructor(port: number, variable?: string) {
    const remedy = variable === undefined ? "" : ` Stop that program, or set ${variable} to another port.`;
    super(`Port ${port} of 127.0.0.1 is taken by another program, perhaps another Carillon.${remedy}`);
    this.port = port;
  }
}

export interface LoopbackServer {
  url: string;
  port: number;
  /** Takes no new requests, waits for those that run, then cuts what is left. */
  close(graceMs: number): Promise<void>;
}

/** More than a query may have, percent-encoded: what is too long is refused by the API, with a problem, and not by the server. */
const headerBytesMax = 64 * 1024;
/** Of a connection that rests for five seconds, Node's default, a caller may make use just as it is closed. API Gateway keeps one for longer too. */
const restMs = 75_000;

/** Listens on the loopback interface only; port 0 takes any free one. */
export async function listenOnLoopback(
  port: number,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<LoopbackServer> {
  const server = createServer({ maxHeaderSize: headerBytesMax, keepAliveTimeout: restMs }, answer);
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(isTaken(error) ? new PortTaken(port) : error));
    server.listen(port, "127.0.0.1", resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    close: (graceMs) => closeWithin(server, graceMs),
  };
}

export function isTaken(error: unknown): boolean {
  return (
    error instanceof Error && "code" in error && (error.code === "EADDRINUSE" || error.code === "EACCES")
  );
}

async function closeWithin(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(cut);
}

/** The whole body, or undefined once it is over `bytesMax`; what comes after that is not kept. */
export async function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= bytesMax) chunks.push(chunk);
  }
  return bytes <= bytesMax ? Buffer.concat(chunks) : undefined;
}
