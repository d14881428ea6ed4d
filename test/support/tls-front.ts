import { readFile } from "node:fs/promises";
import { connect as connectTcp, createServer, type Socket } from "node:net";
import { createSecureContext, TLSSocket } from "node:tls";
import { onTestFinished } from "vitest";

export const certificates: URL = new URL("../fixtures/tls/", import.meta.url);

const connectedTo = new Map<number, ReadonlySet<Socket>>();

/**
 * The number of open connections at a server of this test, counted by the sockets of the server.
 */
export function connections(port: number): number {
  return connectedTo.get(port)?.size ?? 0;
}

/** A server on the loopback interface for the time of its test. Returns its port. */
export async function serve(talk: (socket: Socket) => void): Promise<number> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => open.delete(socket));
    talk(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  connectedTo.set(address.port, open);
  return address.port;
}

/**
 * Answers the request for TLS as Postgres does, presents this certificate, and talks in the clear
 * behind it.
 */
export async function serveTls(
  certificate: "localhost" | "elsewhere",
  talk: (clear: TLSSocket) => void,
): Promise<number> {
  const [cert, key] = await Promise.all([
    readFile(new URL(`${certificate}.pem`, certificates)),
    readFile(new URL(`${certificate}.key`, certificates)),
  ]);
  const secureContext = createSecureContext({ cert, key });
  return serve((socket) => {
    socket.once("data", () => {
      socket.write("S");
      const clear = new TLSSocket(socket, { isServer: true, secureContext });
      clear.on("error", () => socket.destroy());
      talk(clear);
    });
  });
}

/** TLS in front of a Postgres that speaks none. */
export function serveTlsBefore(certificate: "localhost" | "elsewhere", postgresUrl: string): Promise<number> {
  const { hostname, port } = new URL(postgresUrl);
  return serveTls(certificate, (clear) => {
    const behind = connectTcp(Number(port), hostname);
    behind.on("error", () => clear.destroy());
    // The remaining bytes of one end must be read after the other is gone, or its close event never
    // comes.
    behind.on("close", () => clear.resume());
    clear.on("close", () => behind.resume());
    clear.pipe(behind).pipe(clear);
  });
}
