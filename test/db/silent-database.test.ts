import { readFileSync } from "node:fs";
import { connect as connectTcp, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { answerMs } from "../../lib/config/function-connections.ts";
import { connect } from "../../lib/db/connect.ts";
import { ConnectionLost } from "../../lib/db/connection-lost.ts";
import { isPassingFailure } from "../../lib/db/passing-failure.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { serve } from "../support/tls-front.ts";

/** A database that accepts a connection and does not answer, or stops answering. */

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

/** The wait for a connection of RDS Proxy, as the stack sets it. */
const proxyWaitSeconds = 10;

const silent = () => serve((socket) => void socket.resume());

describe("a statement", () => {
  const url = (port: number, more = "") => ({ DATABASE_URL: `postgres://u:p@localhost:${port}/d${more}` });

  test.each(["", "?sslmode=verify-full"])(
    "a statement fails when the server never answers the connect (%s)",
    async (more) => {
      const sql = connect(url(await silent(), more), { connectMs: 50 });
      await expect(sql`select 1`).rejects.toSatisfy(isPassingFailure);
      await sql.end();
    },
  );

  test("a statement fails when its server falls silent, and the next one gets another connection", async () => {
    const front = await mutableFront(database.url);
    const sql = connect({ DATABASE_URL: front.url }, { answerMs: 1_000 });
    await sql`select 1`;
    front.mute(true);
    await expect(sql`select 1`).rejects.toBeInstanceOf(ConnectionLost);
    front.mute(false);
    expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
    await sql.end();
  });

  test("a statement in a transaction fails when its server falls silent, and the transaction with it", async () => {
    const front = await mutableFront(database.url);
    const sql = connect({ DATABASE_URL: front.url }, { answerMs: 1_000 });
    const transaction = sql.begin(async (tx) => {
      await tx`select 1`;
      front.mute(true);
      await tx`select 1`;
    });
    await expect(transaction).rejects.toBeInstanceOf(ConnectionLost);
    await sql.end();
  });

  test("a transaction's idle connection is not given up, even if the pause before the next statement is longer than the limit for an answer", async () => {
    const front = await mutableFront(database.url);
    const sql = connect({ DATABASE_URL: front.url }, { answerMs: 1_000 });
    const pids = await sql.begin(async (tx) => {
      const pid = async () => (await tx<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]?.pid;
      const before = await pid();
      await front.quietFor(1_200);
      return [before, await pid()];
    });
    expect(pids[0]).toBe(pids[1]);
    await sql.end();
  });

  test("a statement times out at its role or at the proxy before the function gives up the connection", () => {
    const schema = readFileSync(new URL("../fixtures/schema.sql", import.meta.url), "utf8");
    const roles = [...schema.matchAll(/^alter role carillon_(\w+) set statement_timeout=(\d+)s;$/gm)].map(
      ([, role = "", seconds]) => ({ role, ms: (Number(seconds) + proxyWaitSeconds) * 1_000 }),
    );
    expect(roles.map(({ role }) => role)).toEqual(["api", "archive", "handler", "ingest", "tick", "worker"]);
    expect(roles.filter(({ role, ms }) => ms >= (role === "tick" ? answerMs.tick : answerMs.others))).toEqual(
      [],
    );
  });
});

/** A front of this Postgres, which drops the server's bytes while it is mute. */
async function mutableFront(postgresUrl: string) {
  const url = new URL(postgresUrl);
  const { hostname, port } = url;
  let isMute = false;
  let clear: Socket | undefined;
  url.hostname = "localhost";
  url.port = String(
    await serve((socket) => {
      clear = socket;
      const behind = connectTcp(Number(port), hostname);
      behind.on("error", () => socket.destroy());
      behind.on("data", (bytes) => isMute || socket.write(bytes));
      socket.on("data", (bytes) => behind.write(bytes));
      socket.on("close", () => behind.destroy());
    }),
  );
  return {
    url: url.href,
    mute: (wanted: boolean) => {
      isMute = wanted;
    },
    quietFor: (ms: number) => new Promise<void>((heardNothing) => clear?.setTimeout(ms, heardNothing)),
  };
}
