import { ConnectionLost } from "./connection-lost.ts";
import { type Line, type Login, openLine } from "./line.ts";
import { sqlState } from "./sql-state.ts";

/** Candidate passwords, of which one should be valid. */
export interface Passwords {
  /**
   * The most likely one first. The next one is read only when the server has refused those before.
   */
  candidates(): AsyncIterable<string>;
  /** Called with the password that the server accepted. */
  keep(password: string): void;
}

/**
 * A connection for a login whose password may change at any moment. It logs in before it sends a
 * statement, first with one password and then with the next, so that a rotation fails no statement.
 * The price is one round trip per connection.
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
  // Every statement gets this error through `run`. Without a statement it would be an unhandled
  // rejection.
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
