import { frontOf } from "./postgres-front.ts";
import { messageReader } from "./postgres-messages.ts";

export interface Watched {
  /** The URL of the database through the front. */
  url: string;
  /** The names under which statements were prepared; empty if none had a name. */
  names(): string[];
  /** The number of prepared statements, with a name or without. */
  prepared(): number;
}

/**
 * Records which statements are prepared by name at this Postgres. No session can see the prepared
 * statements of another.
 */
export async function watchPreparedNames(postgresUrl: string): Promise<Watched> {
  const prepared: string[] = [];
  const url = await frontOf(postgresUrl, () => ({
    // `P` is Parse; its body begins with the name.
    said: messageReader("client", (type, body) => {
      if (type === "P") prepared.push(body.toString("utf8", 0, body.indexOf(0)));
    }),
  }));
  return {
    url,
    names: () => prepared.filter((name) => name !== ""),
    prepared: () => prepared.length,
  };
}
