import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

/** Another program listens on the port. */
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
  /** Accepts no new requests, waits for those under way, then closes the remaining connections. */
  close(graceMs: number): Promise<void>;
}

/**
 * More than a percent-encoded query may have. So a longer query is rejected by the API, with a
 * problem document, and not by the server.
 */
const headerBytesMax = 64 * 1024;
/**
 * With Node's default of five seconds, a caller may reuse an idle connection at the moment it is
 * closed. API Gateway keeps idle connections for longer too.
 */
const restMs = 75_000;

/** Listens on the loopback interface only; port 0 picks a free one. */
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

/** The whole body, or undefined when it exceeds `bytesMax`; the excess is discarded. */
export async function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= bytesMax) chunks.push(chunk);
  }
  return bytes <= bytesMax ? Buffer.concat(chunks) : undefined;
}
