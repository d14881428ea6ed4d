import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { findPrincipal, type Principal } from "../../lib/token/principal.ts";
import { findToken } from "../../lib/token/token.ts";
import { connectThrough, holdAnswer, textOf } from "../race/lines.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

let database: TestDatabase;
let sql: Sql;

beforeAll(async () => {
  database = await testDatabase();
  sql = connect({ DATABASE_URL: database.url });
});

afterAll(async () => {
  await sql.end();
  await database.drop();
});

const ann = (powers: Pick<Principal, "scope" | "prefix">): Principal => ({
  name: "jwt:ann",
  identity: "https://issuer.test ann",
  ...powers,
});

test("a principal has the rights of this request, also if another request with more rights comes in between", async () => {
  const held = Promise.withResolvers<() => void>();
  const writing = connectThrough(database.url, (line) => ({
    ...line,
    run: (statement) => {
      if (textOf(statement).includes("insert into carillon.tokens")) {
        const go = holdAnswer(statement, () => held.resolve(go));
      }
      line.run(statement);
    },
  }));
  const reading = findPrincipal(writing, ann({ scope: "read", prefix: "a:" }));
  const go = await held.promise;
  expect(await findPrincipal(sql, ann({ scope: "admin", prefix: null }))).toMatchObject({ scope: "admin" });
  go();
  expect(await reading).toMatchObject({ name: "jwt:ann", scope: "read", prefix: "a:", team: "a:" });
  await writing.end();
});

test("the identity of a principal grants nothing if it is sent as a token", async () => {
  const identity = "robot";
  await findPrincipal(sql, { name: "jwt:robot", identity, scope: "admin", prefix: null });
  expect(await findToken(sql, identity)).toBeNull();
});

test("the first request of a principal that may write makes its prefix one of a team", async () => {
  const asks = (identity: string, scope: Principal["scope"], prefix: string) =>
    findPrincipal(sql, { name: `jwt:${identity}`, identity, scope, prefix });
  await asks("reader", "read", "seen:");
  await asks("writer", "write", "shop:");
  expect(await sql`select prefix from carillon.teams where prefix in ('seen:', 'shop:')`).toEqual([
    { prefix: "shop:" },
  ]);
});

test("the first requests of a principal at the same moment all succeed", async () => {
  const many = connect({ DATABASE_URL: database.url }, { max: 8 });
  for (let round = 1; round <= 100; round++) {
    const name = `jwt:first-${round}`;
    const first = (): Promise<unknown> =>
      findPrincipal(many, { name, identity: `https://issuer.test ${name}`, scope: "read", prefix: null });
    const found = await Promise.all(Array.from({ length: 8 }, first));
    expect(new Set(found.map((each) => Object(each).id)).size).toBe(1);
  }
  await many.end();
});
