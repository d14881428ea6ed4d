import { frontOf } from "./postgres-front.ts";

export interface Counted {
  /** The database, as it is reached through the one who counts. */
  url: string;
  /** How often the client has spoken after an answer, since this was asked last. */
  taken(): number;
}

/** Counts how often somebody waited for an answer of this Postgres before going on. */
export async function countRoundTrips(postgresUrl: string): Promise<Counted> {
  let taken = 0;
  const url = await frontOf(postgresUrl, () => {
    let isAnswered = true;
    return {
      said: () => {
        if (isAnswered) taken += 1;
        isAnswered = false;
      },
      answered: () => {
        isAnswered = true;
      },
    };
  });
  return {
    url,
    taken: () => {
      const since = taken;
      taken = 0;
      return since;
    },
  };
}
