import { frontOf, type Listener } from "./postgres-front.ts";
import { messageReader } from "./postgres-messages.ts";

export interface Counted {
  /** The URL of the database through the front that counts. */
  url: string;
  /**
   * The number of times that a client waited for an answer before its next request, since the last
   * call.
   */
  taken(): number;
}

/** Counts how often the clients of this Postgres waited for an answer before their next request. */
export async function countRoundTrips(postgresUrl: string): Promise<Counted> {
  let taken = 0;
  const url = await frontOf(postgresUrl, () =>
    roundTripListener(() => {
      taken += 1;
    }),
  );
  return {
    url,
    taken: () => {
      const since = taken;
      taken = 0;
      return since;
    },
  };
}

/**
 * The messages of a client up to the one that demands an answer. Requests that were sent after the
 * same answer belong to one round.
 */
interface Request {
  round: number;
  /** Sync and Query demand ReadyForQuery. Flush demands the types of the parameters. */
  asked?: "all" | "types";
}

const asks: Readonly<Record<string, Request["asked"]>> = { S: "all", Q: "all", H: "types" };

/**
 * Listens to one connection, by whole messages: neither TCP nor the driver promises how many bytes
 * arrive at once. Requests that are sent one after the other without waiting take one round trip
 * together. The login is not counted.
 */
export function roundTripListener(onRoundTrip: () => void): Required<Listener> {
  const waiting: Request[] = [];
  let isLoggedIn = false;
  let saying: Request | undefined;
  let begunRounds = 0;
  let answeredRounds = 0;

  const said = (type: string) => {
    if (!isLoggedIn) return;
    saying ??= { round: answeredRounds + 1 };
    const asked = asks[type];
    if (asked === undefined) return;
    if (saying.round > begunRounds) {
      begunRounds = saying.round;
      onRoundTrip();
    }
    waiting.push({ ...saying, asked });
    saying = undefined;
  };

  const answer = (count: number) => {
    for (const { round } of waiting.splice(0, count)) answeredRounds = Math.max(answeredRounds, round);
  };

  const answered = (type: string) => {
    const [first] = waiting;
    // `Z` is ReadyForQuery. After an error the server skips all messages before the next Sync.
    if (type === "Z") {
      isLoggedIn = true;
      answer(waiting.findIndex(({ asked }) => asked === "all") + 1);
    }
    // `t` is ParameterDescription, `E` an error.
    else if ((type === "t" || type === "E") && first?.asked === "types") answer(1);
  };

  return { said: messageReader("client", said), answered: messageReader("server", answered) };
}
