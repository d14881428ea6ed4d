import { frontOf } from "./postgres-front.ts";

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
  const url = await frontOf(postgresUrl, () => ({ said: parseListener((name) => heard.push(name)) }));
  return {
    url,
    names: () => heard.filter((name) => name !== ""),
    prepared: () => heard.length,
  };
}

const lengthBytes = 4;

/** Reads messages as the protocol has them: the first has a length alone, each other one a letter before its length. `P` is Parse, and begins with the name. */
function parseListener(tell: (name: string) => void): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let typeBytes = 0;
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    while (rest.length >= typeBytes + lengthBytes) {
      const end = typeBytes + rest.readInt32BE(typeBytes);
      if (rest.length < end) return;
      const body = rest.subarray(typeBytes + lengthBytes, end);
      if (typeBytes === 1 && rest.toString("latin1", 0, 1) === "P")
        tell(body.toString("utf8", 0, body.indexOf(0)));
      rest = rest.subarray(end);
      typeBytes = 1;
    }
  };
}
