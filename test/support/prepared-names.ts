import { frontOf } from "./postgres-front.ts";
import { messageReader } from "./postgres-messages.ts";

export interface Watched {
  /** The database, as it is reached through the one who listens. */
  url: string;
  /** By which names statements were prepared; empty where none had one. */
  names(): string[];
  /** How many statements were prepared at all, with a name or without. */
  prepared(): number;
}

/** Hears which statements are prepared by name at this Postgres: no session tells that of another. */
export async function watchPreparedNames(postgresUrl: string): Promise<Watched> {
  const heard: string[] = [];
  const url = await frontOf(postgresUrl, () => ({
    // `P` is Parse, and begins with the name.
    said: messageReader("client", (type, body) => {
      if (type === "P") heard.push(body.toString("utf8", 0, body.indexOf(0)));
    }),
  }));
  return {
    url,
    names: () => heard.filter((name) => name !== ""),
    prepared: () => heard.length,
  };
}
