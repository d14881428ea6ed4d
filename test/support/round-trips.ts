import { connect as connectTcp } from "node:net";
import { serve } from "./tls-front.ts";

export interface Counted {
  /** The database, as it is reached through the one who counts. */
  url: string;
  /** How often the client has spoken after an answer, since this was asked last. */
  taken(): number;
}

/** Passes on what is said to this Postgres, and counts how often somebody waited for its answer before going on. */
export async function countRoundTrips(postgresUrl: string): Promise<Counted> {
  let taken = 0;
  const behindUrl = new URL(postgresUrl);
  const port = await serve((socket) => {
    const behind = connectTcp(Number(behindUrl.port), behindUrl.hostname);
    let isAnswered = true;
    behind.on("error", () => socket.destroy());
    behind.on("close", () => socket.destroy());
    socket.on("close", () => behind.destroy());
    socket.on("data", (bytes) => {
      if (isAnswered) taken += 1;
      isAnswered = false;
      behind.write(bytes);
    });
    behind.on("data", (bytes) => {
      isAnswered = true;
      socket.write(bytes);
    });
  });
  const url = new URL(postgresUrl);
  url.hostname = "localhost";
  url.port = String(port);
  return {
    url: url.href,
    taken: () => {
      const since = taken;
      taken = 0;
      return since;
    },
  };
}
