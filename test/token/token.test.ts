import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { allows, ensureAdminToken, findToken, type Scope, type Token } from "../../lib/token/token.ts";
import { createToken, deleteToken, rotateToken } from "../../lib/token/token-edits.ts";
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

async function insertToken({
  bearer,
  scope,
  expires,
}: {
  bearer: string;
  scope: Scope;
  expires: string | null;
}) {
  const hash = createHash("sha256").update(bearer).digest();
  await sql`
    insert into carillon.tokens (id, hash, name, scope, created_at, created_by, expires_at)
    values (gen_random_uuid(), ${hash}, ${bearer}, ${scope}, carillon.clock(), 'test', carillon.clock() + ${expires}::interval)`;
}

describe("a token", () => {
  test("a token is found by its secret, and only a hash of that is stored", async () => {
    await ensureAdminToken(sql, "first-secret");
    expect(await findToken(sql, "first-secret")).toMatchObject({ name: "first", scope: "admin" });
    const [row] = await sql<
      { text: string }[]
    >`select t::text as text from carillon.tokens t where name = 'first'`;
    expect(row?.text).not.toContain("first-secret");
  });

  test.each([
    "",
    "first-secre",
    "first-secret ",
    "First-secret",
    "first-secret\u0000",
    "x".repeat(5_000),
    "' or true --",
  ])("a token is not found by %j", async (bearer) => {
    await ensureAdminToken(sql, "first-secret");
    expect(await findToken(sql, bearer)).toBeNull();
  });

  test("a token is not found after it has expired", async () => {
    await insertToken({ bearer: "over", scope: "write", expires: "-1 second" });
    await insertToken({ bearer: "not-over", scope: "write", expires: "1 hour" });
    expect(await findToken(sql, "over")).toBeNull();
    expect(await findToken(sql, "not-over")).toMatchObject({ scope: "write" });
  });

  test("a token allows its scope and those below", () => {
    const scopes: Scope[] = ["read", "write", "admin"];
    const allowed = scopes.map((scope) =>
      scopes.filter((needed) => allows({ id: "", name: "", scope, prefix: null, team: null }, needed)),
    );
    expect(allowed).toEqual([["read"], ["read", "write"], ["read", "write", "admin"]]);
  });
});

/** An admin token with which others are changed. */
async function made(name: string): Promise<Token> {
  await ensureAdminToken(sql, name);
  const token = await findToken(sql, name);
  if (token === null) throw new Error(`The token ${name} was not made.`);
  return token;
}

async function idOf(bearer: string): Promise<string> {
  return (await findToken(sql, bearer))?.id ?? "";
}

test("a rotation with a longer overlap does not prolong a secret that ends earlier", async () => {
  const token = await made("rotated");
  const rotate = (overlapMs: number) =>
    rotateToken(sql, { id: token.id, overlapMs, by: token, caller: { name: "ann" } });
  await rotate(60_000);
  const [ends] = await sql<{ at: Date }[]>`
    select ends_at as at from carillon.earlier_secrets where token_id = ${token.id}`;
  await rotate(3_600_000);
  const [still] = await sql<{ at: Date }[]>`
    select ends_at as at from carillon.earlier_secrets where token_id = ${token.id} order by ends_at`;
  expect(still).toEqual(ends);
});

test("a token that was deleted between its lookup and its request makes no other token", async () => {
  const by = await made("taken-back");
  await sql`delete from carillon.tokens where id = ${by.id}`;
  const asked = { name: "child", scope: "admin" as const };
  await expect(createToken(sql, { asked, by, caller: { name: "ann" } })).rejects.toMatchObject({
    kind: "unauthorized",
  });
  expect(await sql`select from carillon.tokens where name = 'child'`).toEqual([]);
});

describe("the first admin token", () => {
  test("making the first admin token twice, even at the same time, gives one token and replaces no other", async () => {
    await ensureAdminToken(sql, "one");
    const [before] = await sql<{ count: number }[]>`select count(*)::int from carillon.tokens`;
    await Promise.all(["two", "two", "two", "one"].map((bearer) => ensureAdminToken(sql, bearer)));
    const [after] = await sql<{ count: number }[]>`select count(*)::int from carillon.tokens`;
    expect(after?.count).toBe((before?.count ?? 0) + 1);
    expect(await findToken(sql, "one")).not.toBeNull();
  });

  test("a first admin token that was deleted or rotated away is not made again by the next deployment", async () => {
    const by = await made("keeper");
    const caller = { name: "ann" };
    await ensureAdminToken(sql, "deleted-later");
    await deleteToken(sql, { id: await idOf("deleted-later"), by, caller });
    await ensureAdminToken(sql, "rotated-later");
    await rotateToken(sql, { id: await idOf("rotated-later"), overlapMs: 0, by, caller });
    for (const bearer of ["deleted-later", "rotated-later"]) {
      // Its name is free again, so that only the used secret prevents the token.
      await sql`update carillon.tokens set name = concat('earlier-', id) where name = 'first'`;
      await ensureAdminToken(sql, bearer);
      expect(await findToken(sql, bearer), bearer).toBeNull();
    }
  });

  test.each(["", "two words", "línea", "a\nb"])(
    "a first admin token that no header can carry is refused: %j",
    async (bearer) => {
      await expect(ensureAdminToken(sql, bearer)).rejects.toThrow("printable ASCII");
    },
  );
});
