import type { Sql } from "../../lib/db/connect.ts";
import { ConnectionLost } from "../../lib/db/connection-lost.ts";
import { connectThrough, textOf } from "../race/lines.ts";
import type { Carillon } from "./carillon.ts";

export interface WatchedWorker {
  sql: Sql;
  /** The names of the database functions that the worker called, in order. */
  asked: string[];
  /**
   * Whether, and when, the server gets a statement that calls a function of this name; a test
   * replaces it.
   */
  arrives: (name: string) => boolean | Promise<boolean>;
}

/** Gives the workers of a test's Carillon a connection that records their calls. */
export function watchedWorker(world: Carillon, connections: number): WatchedWorker {
  const asked: string[] = [];
  const sql = connectThrough(
    world.databaseUrl,
    (line) => ({
      ...line,
      run: (statement) => {
        const name = /carillon\.((?:claim|settle|leave)_(?:parcels?|company|places))\(/.exec(
          textOf(statement),
        )?.[1];
        if (name !== undefined) asked.push(name);
        const send = (arrives: boolean) =>
          arrives ? line.run(statement) : statement.reject(new ConnectionLost(`${name} is out of order`));
        const arrives = name === undefined || worker.arrives(name);
        if (typeof arrives === "boolean") send(arrives);
        else void arrives.then(send);
      },
    }),
    { max: connections },
  );
  const worker: WatchedWorker = { sql, asked, arrives: () => true };
  world.more.worker = { sql };
  return worker;
}
