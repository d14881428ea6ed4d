import type { Duplex } from "node:stream";
import postgres from "postgres";
import { ConnectionLost } from "./connection-lost.ts";
import { isOfTheDatabase } from "./passing-failure.ts";
import { failedSocket, openSocket, type Server } from "./socket.ts";
import { failedInCallback, handlerOf, isFixed, type Statement } from "./statement.ts";
import { unwritable } from "./unwritable.ts";
import { valueTypes } from "./value-types.ts";

export interface Login extends Server {
  database: string;
  user: string;
  /** Read at each connect, because a token is valid for minutes only. */
  password: () => string | Promise<string>;
  applicationName: string;
  /**
   * Whether statements with a constant text are prepared by name. Prepared statements pin a session
   * of RDS Proxy, and a transaction pooler loses their names.
   */
  keepsPlans: boolean;
  connectMs: number;
  /** How long a statement may wait for the server in silence; null for no limit. */
  answerMs: number | null;
}

/** One connection. It never reconnects: once lost, it stays lost. */
export interface Line {
  run(statement: Statement): void;
  isLost(): boolean;
  /** Ends the connection at once, with every statement that is running on it. */
  cut(why: string): void;
  close(): Promise<void>;
}

export interface OwnLine extends Line {
  /** Connects, and fails with the server's error. */
  greet(): Promise<void>;
}

const CLOSE_TIMEOUT_S = 5;

export function openLine(login: Login, onLost: () => void): OwnLine {
  let password = "";
  let lost: Error | undefined;
  let opened = false;
  let socket: Duplex | undefined;
  let asked = 0;

  // The driver would reconnect by itself, and a transaction that outlived its connection would
  // continue outside of any transaction.
  const openOnce = async () => {
    if (opened || lost !== undefined) return failedSocket(lost ?? new ConnectionLost("it has ended"));
    opened = true;
    try {
      password = await login.password();
    } catch (cause) {
      return failedSocket(new ConnectionLost("there is no password or token to connect with", cause));
    }
    socket = await openSocket(login, { ...login, isAsked: () => asked > 0 });
    if (lost !== undefined) socket.destroy(lost);
    return socket;
  };

  // Only the first report of DateStyle counts, which the server sends at the connect. A later
  // change comes from a handler, and ends with the handler's transaction or with the reset after
  // it.
  let isStyleTold = false;

  const cut = (why: string) => {
    lost ??= new ConnectionLost(why);
    onLost();
    socket?.destroy(lost);
  };

  const options = {
    host: login.host,
    port: login.port,
    database: login.database,
    user: login.user,
    password: () => password,
    connection: { application_name: login.applicationName },
    socket: openOnce,
    ssl: false, // openSocket has already set up TLS
    max: 1,
    max_lifetime: null,
    connect_timeout: login.connectMs / 1_000,
    prepare: login.keepsPlans,
    fetch_types: false,
    types: valueTypes,
    onnotice: () => {},
    onparameter: (name: string, value: string) => {
      if (name !== "DateStyle" || isStyleTold) return;
      isStyleTold = true;
      if (!value.startsWith("ISO")) cut(foreignDates(value));
    },
    onclose: () => {
      lost ??= new ConnectionLost("it has ended");
      onLost();
    },
  };
  const driver = postgres(options);
  const handle = handlerOf(driver`select`);

  return {
    run: (statement) => {
      const refusal = lost ?? unwritable(statement);
      if (refusal !== undefined) return statement.reject(refusal);
      // Only texts that do not vary are prepared. One of thousands of variants would stay prepared
      // for the life of the connection, with a plan that was made for other values.
      statement.options.prepare ??= isFixed(statement);
      asked += 1;
      const answered = () => {
        asked -= 1;
      };
      statement.then(answered, (error: unknown) => {
        answered();
        // Such an error ends the connection, as where the server accepts no more of them. Later
        // statements report it too.
        if (endsConnection(error)) lost ??= error;
        // A failure of the driver itself may belong to another statement. Then every later answer
        // goes to the wrong statement.
        if (!isAnswer(error) && !failedInCallback(statement)) cut("the driver failed at a statement");
      });
      handle(statement);
    },
    greet: async () => {
      await driver`select`;
    },
    isLost: () => lost !== undefined,
    cut,
    close: () => driver.end({ timeout: CLOSE_TIMEOUT_S }),
  };
}

function endsConnection(error: unknown): error is Error {
  return error instanceof postgres.PostgresError && error.severity === "FATAL" && isOfTheDatabase(error);
}

/**
 * `02.03.2026` is another day in another style, so a date in a foreign style has no safe reading.
 */
const foreignDates = (style: string) =>
  `its DateStyle is "${style}", and Carillon reads dates as ISO alone: set datestyle = 'ISO' for the role that logs in, or for the database`;

/**
 * Whether the error is an answer to the statement: from the server, or from the end of the
 * connection. The driver's refusal of a statement during a copy counts as one, since it harms no
 * other statement.
 */
function isAnswer(error: unknown): boolean {
  if (error instanceof postgres.PostgresError || error instanceof ConnectionLost) return true;
  return error instanceof Error && "code" in error && error.code === "COPY_IN_PROGRESS";
}
