import { connect as connectTcp } from "node:net";
import { serve } from "./tls-front.ts";

/** Receives the bytes of one connection, in the pieces in which they arrive. */
export interface Listener {
  said(bytes: Buffer): void;
  answered?(bytes: Buffer): void;
}

/**
 * A front that forwards to this Postgres, with a listener on each connection. Returns the URL of
 * the database behind it.
 */
export async function frontOf(postgresUrl: string, listen: () => Listener): Promise<string> {
  const url = new URL(postgresUrl);
  const { port, hostname } = new URL(postgresUrl);
  url.hostname = "localhost";
  url.port = String(
    await serve((socket) => {
      const listener = listen();
      const behind = connectTcp(Number(port), hostname);
      behind.on("error", () => socket.destroy());
      behind.on("close", () => socket.destroy());
      socket.on("close", () => behind.destroy());
      socket.on("data", (bytes) => {
        listener.said(bytes);
        behind.write(bytes);
      });
      behind.on("data", (bytes) => {
        listener.answered?.(bytes);
        socket.write(bytes);
      });
    }),
  );
  return url.href;
}
