import { connect as connectTcp } from "node:net";
import { serve } from "./tls-front.ts";

/** Who listens on one connection. */
export interface Listener {
  said(bytes: Buffer): void;
  answered?(): void;
}

/** Passes on what is said to this Postgres, with somebody who listens to each connection; answers with the database's URL behind it. */
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
        listener.answered?.();
        socket.write(bytes);
      });
    }),
  );
  return url.href;
}
