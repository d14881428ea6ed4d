import { ConnectionLost } from "./connection-lost.ts";
import { type Line, type Login, openLine } from "./line.ts";
import { sqlState } from "./sql-state.ts";

/** Passwords of which one should be right. */
export interface Passwords {
  /** The likeliest first; each is asked for when those before it were refused. */
  candidates(): AsyncIterable<string>;
  /** Hears which one was taken. */
  keep(password: string): void;
}

/**
 * A line for a login whose password may be changed at any moment: the server lets it in before a statement is sent, with one password
 * or the next, so that nobody notices the change. It costs a round trip for each connection.
 */
export function openAdmittedLine(
  login: Omit<Login, "password">,
  passwords: Passwords,
  onLost: () => void,
): Line {
  let isLost = false;
  const lose = () => {
    isLost = true;
    onLost();
  };

  const admit = async (): Promise<Line> => {
    let refusal: unknown;
    for await (const password of passwords.candidates()) {
      let admitted = false;
      const line = openLine({ ...login, password: () => password }, () => {
        if (admitted) lose();
      });
      try {
        await line.greet();
        passwords.keep(password);
        admitted = true;
        if (line.isLost()) lose();
        return line;
      } catch (error) {
        await line.close();
        if (sqlState(error) !== "invalid_password") throw error;
        refusal = error;
      }
    }
    throw refusal ?? new ConnectionLost("there is no password to connect with");
  };

  const admission = admit().catch((error: unknown) => {
    lose();
    throw error;
  });
  // Each statement hears of it below; there may be none.
  admission.catch(() => {});

  return {
    run: (statement) => {
      admission.then(
        (line) => line.run(statement),
        (error: unknown) => statement.reject(error),
      );
    },
    isLost: () => isLost,
    cut: (why) => {
      lose();
      admission.then(
        (line) => line.cut(why),
        () => {},
      );
    },
    close: async () => {
      const line = await admission.catch(() => undefined);
      await line?.close();
    },
  };
}
